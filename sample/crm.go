package sample

import (
	"fmt"
	"strconv"
	"strings"
)

// addCRM fills the CRM matches from the headers contact, company, deal and crm.
// Without any of them the meeting has null.
func (s *script) addCRM(m *meeting) error {
	found := crmMatches{Error: s.headerValue("crm", "")}
	record := func(kind, name string) string {
		id := strings.ToLower(strings.ReplaceAll(name, " ", "-"))
		return "https://crm." + Domain + "/" + kind + "/" + id
	}
	for _, name := range s.head["company"] {
		found.Companies = append(found.Companies, crmCompany{name, record("companies", name)})
	}
	for _, l := range s.head["contact"] {
		name, email, ok := strings.Cut(l, " | ")
		if !ok {
			return fmt.Errorf("read contact %q: want name | address", l)
		}
		found.Contacts = append(found.Contacts, crmContact{name, email, record("contacts", email)})
	}
	for _, l := range s.head["deal"] {
		name, amount, _ := strings.Cut(l, " | ")
		n, err := strconv.ParseFloat(amount, 64)
		if err != nil {
			return fmt.Errorf("read deal %q: %w", l, err)
		}
		found.Deals = append(found.Deals, crmDeal{name, n, record("deals", name)})
	}
	if len(found.Companies)+len(found.Contacts)+len(found.Deals) > 0 || found.Error != "" {
		m.CRM = &found
	}
	return nil
}
