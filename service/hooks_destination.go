package service

import "minutebook/internal/outbound"

// checkDestination fails when text is no address to which this service may send.
func (s *Service) checkDestination(text string) error {
	if err := outbound.CheckURL(text, s.opts.AllowPrivate); err != nil {
		return badRequest("destination_url %v", err)
	}
	return nil
}
