package signature

import "testing"

func TestOnlyTheSameFieldsAreValid(t *testing.T) {
	k := Key("0123456789abcdef0123456789abcdef")
	signed := k.Sign("media", "ab", "c")
	for name, valid := range map[string]bool{
		"the same":        k.IsValid(signed, "media", "ab", "c"),
		"another purpose": !k.IsValid(signed, "cursor", "ab", "c"),
		"another border":  !k.IsValid(signed, "media", "a", "bc"),
		"fewer fields":    !k.IsValid(signed, "media", "abc"),
		"another key":     !Key("1123456789abcdef0123456789abcdef").IsValid(signed, "media", "ab", "c"),
		"with padding":    !k.IsValid(signed+"=", "media", "ab", "c"),
	} {
		if !valid {
			t.Errorf("%s: wrong", name)
		}
	}
}
