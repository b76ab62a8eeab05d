package sample

import (
	"strings"
	"time"
)

// Domain is the company's own mail domain. People with another one are external.
const Domain = "tidewell.example"

// Company is the invented company as the service lists it (sections 2.3 to 2.6).
type Company struct {
	Name   string
	Teams  []Team
	Types  []Type
	People []Person
}

// Team is a team of the company.
type Team struct {
	Name      string
	CreatedAt time.Time
}

// Type is a meeting type; inactive ones are listed too (section 2.3).
type Type struct {
	Name      string
	Active    bool
	CreatedAt time.Time
}

// Person is a user of the company's account.
type Person struct {
	Key       string // how scripts name the person: initials
	Name      string
	Email     string
	Team      string
	Role      string // their work, for a reader; the service has no field for it
	Status    string // active, deactivated or invited (section 2.6)
	Admin     bool   // account_admin, and sees all teams
	CreatedAt time.Time
}

// Directory returns the company: its teams, meeting types and people.
func Directory() Company {
	c := Company{Name: "Tidewell"}
	for i, name := range []string{"Leadership", "Platform", "Firmware", "Field Operations", "Sales", "Customer Success", "Product"} {
		c.Teams = append(c.Teams, Team{Name: name, CreatedAt: creationTime(i)})
	}
	for i, name := range []string{"Leadership Review", "Engineering Sync", "Design Review", "Incident Review", "Retrospective",
		"Planning", "Hiring", "Customer Call", "Sales Discovery", "Supplier Call", "Compliance", "Investor Update", "All Hands"} {
		c.Types = append(c.Types, Type{Name: name, Active: true, CreatedAt: creationTime(i)})
	}
	c.Types = append(c.Types, Type{Name: "Friday Demo", CreatedAt: creationTime(4)})
	for i, line := range strings.Split(strings.TrimSpace(people), "\n") {
		f := strings.Split(line, "|")
		p := Person{Key: f[0], Name: f[1], Team: f[2], Role: f[3], Status: "active", CreatedAt: creationTime(i)}
		p.Email = mailAddress(p.Name)
		if len(f) > 4 {
			p.Admin = f[4] == "admin"
			if !p.Admin {
				p.Status = f[4]
			}
		}
		c.People = append(c.People, p)
	}
	return c
}

// creationTime spreads the company's first records over its first weeks.
func creationTime(i int) time.Time {
	return time.Date(2023, time.February, 6, 9, 0, 0, 0, time.UTC).AddDate(0, 0, 9*i)
}

// mailAddress makes a mail address from a name: "Lucía Ferrer" becomes
// lucia.ferrer@….
func mailAddress(name string) string {
	ascii := strings.NewReplacer("á", "a", "é", "e", "í", "i", "ó", "o", "ñ", "n", "ä", "ae", "ö", "oe", "ü", "ue").Replace(strings.ToLower(name))
	return strings.ReplaceAll(ascii, " ", ".") + "@" + Domain
}

// people: key, name, team, role, and admin or a status that is not active.
const people = `
MO|Maren Okafor|Leadership|chief executive|admin
TR|Tomás Rivas|Leadership|finance and operations|admin
IB|Ilse Brandt|Leadership|chief technology officer
PR|Priya Raman|Platform|platform lead
JW|Jonas Whitlock|Platform|backend engineer
LF|Lucía Ferrer|Platform|data and signal scientist
DA|Dmitri Aslan|Platform|infrastructure and security
HS|Henrik Solberg|Firmware|firmware lead
WZ|Wen Zhao|Firmware|firmware engineer
AB|Aoife Brennan|Firmware|hardware engineer
CR|Callum Reyes|Field Operations|field lead
NH|Nadia Haddad|Field Operations|field technician
GL|Greta Lindqvist|Sales|sales lead
PI|Pablo Ibáñez|Sales|account executive, Iberia
KM|Kenji Mori|Sales|partner manager, Japan
TK|Tilo Krämer|Sales|account executive, Germany
SB|Sunita Bell|Customer Success|customer success lead
ON|Oskar Nowak|Customer Success|customer success manager
IM|Ines Marchetti|Product|product manager
TL|Theo Lam|Product|designer
BV|Bram Vos|Platform|site reliability, left the company|deactivated
RS|Rosa Silveira|Platform|signal engineer
ED|Elif Demir|Platform|infrastructure engineer
AW|Anton Weller|Firmware|acoustics engineer, has not opened an account yet|invited
`
