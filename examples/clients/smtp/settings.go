package main

import (
	"strconv"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// settings are those of the mail client. Make them with parse, when the service starts.
type settings struct {
	Timeout time.Duration // for one mail, all attempts included
}

// timeoutVariable holds the limit in whole seconds.
const timeoutVariable = "SMTP_TIMEOUT_SECONDS"

// parse reads the settings from the environment. Who mistypes a limit learns of it at the start, and not from mails that
// are never sent, or from calls that hang.
func parse(getenv func(string) string) (settings, error) {
	s := settings{Timeout: 30 * time.Second}
	text := getenv(timeoutVariable)
	if text == "" {
		return s, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > 600 {
		return settings{}, &resilience.ConfigError{Type: "smtp.environment", Field: timeoutVariable, Value: text,
			Allowed: "a whole number of seconds from 1 to 600; empty means 30"}
	}
	s.Timeout = time.Duration(seconds) * time.Second
	return s, nil
}
