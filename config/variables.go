package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// envPrefix begins every variable: MINUTEBOOK_WEB_LISTEN sets web.listen.
const envPrefix = "MINUTEBOOK_"

// accountPrefix begins the variables of accounts: MINUTEBOOK_ACCOUNT_ADA_EMAIL is of ada.
const accountPrefix = envPrefix + "ACCOUNT_"

func (c *Config) applyEnvironment(vars map[string]string) error {
	if err := env.ParseWithOptions(c, env.Options{Environment: vars, Prefix: envPrefix}); err != nil {
		return describeEnvError(err, reflect.TypeFor[Config](), envPrefix, vars)
	}
	mail := &c.Notify.Mail
	preferVariables(vars, envPrefix+"NOTIFY_MAIL_PASSWORD", &mail.Password, &mail.PasswordFile)
	return nil
}

// preferVariables has the variable of a secret take the place of its file, and the variable of
// the file take the place of a secret in the configuration.
func preferVariables(vars map[string]string, variable string, secret, file *string) {
	switch {
	case vars[variable] != "":
		*file = ""
	case vars[variable+"_FILE"] != "":
		*secret = ""
	}
}

// applyAccountVariables adds the accounts that only the environment has, by the addresses of
// their services, and takes the settings of all accounts from it, those of the page too.
func (c *Config) applyAccountVariables(vars map[string]string) error {
	for _, name := range namedAccounts(vars) {
		if !c.hasAccount(envName(name)) {
			c.Accounts = append(c.Accounts, Account{Name: name})
		}
	}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		prefix := accountVariable(a.Name, "")
		if a.OAuth == nil && vars[prefix+"OAUTH_CLIENT_ID"] != "" {
			a.OAuth = &OAuth{}
		}
		if err := env.ParseWithOptions(a, env.Options{Environment: vars, Prefix: prefix}); err != nil {
			return describeEnvError(err, reflect.TypeFor[Account](), prefix, vars)
		}
		preferVariables(vars, prefix+"API_KEY", &a.APIKey, &a.APIKeyFile)
		if o := a.OAuth; o != nil {
			preferVariables(vars, prefix+"OAUTH_CLIENT_SECRET", &o.ClientSecret, &o.ClientSecretFile)
		}
		if vars[prefix+"WEBHOOK_SECRETS"] != "" { // which may stand on lines, as in a file
			a.WebhookSecrets = strings.Fields(strings.Join(a.WebhookSecrets, " "))
		}
	}
	return nil
}

// namedAccounts returns the names of the accounts whose services an environment names, in
// alphabetical order. A cluster sets other variables of such names, such as those that end in
// _PORT and _SERVICE_HOST.
func namedAccounts(vars map[string]string) (names []string) {
	for variable, value := range vars {
		if account, setting := splitAccountVariable(variable); setting == "BASE_URL" && value != "" {
			names = append(names, strings.ToLower(account))
		}
	}
	slices.Sort(names)
	return names
}

// splitAccountVariable splits the name of a variable into the account's name, as it stands in
// variables, and its setting. Both are "" for another variable.
func splitAccountVariable(variable string) (account, setting string) {
	rest, ok := strings.CutPrefix(variable, accountPrefix)
	if !ok {
		return "", ""
	}
	eachSetting(reflect.TypeFor[Account](), "", "_", func(_, suffix string) {
		name, ok := strings.CutSuffix(rest, suffix)
		if ok && suffix != "" && name != "" && name == envName(name) {
			account, setting = name, suffix[1:]
		}
	})
	return account, setting
}

// hasAccount reports whether there is an account with a name, as it stands in variables.
func (c *Config) hasAccount(name string) bool {
	return slices.ContainsFunc(c.Accounts, func(a Account) bool { return envName(a.Name) == name })
}

// accountVariable returns the name of a variable with a setting of an account.
func accountVariable(account, setting string) string {
	return accountPrefix + envName(account) + "_" + setting
}

// envName returns an account's name as part of a variable's name: upper case, with
// an underscore for everything but letters and digits.
func envName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}
