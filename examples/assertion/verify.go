// Package assertion verifies a caller assertion: the metadata x-portico-context of a call that
// Portico makes. Copy this file. See docs/real-services.md, "Caller assertion".
package assertion

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// Caller is the caller of a call. Account and Scopes are empty for a call without a valid token.
type Caller struct {
	Account   string
	Scopes    []string
	Namespace string
}

// Verify returns the caller of a call to resource, such as "service:shop:Orders.Get". The key is
// the service's: the bytes of the base64 text that "portico services add" printed.
func Verify(assertion string, key []byte, resource string, now time.Time) (*Caller, error) {
	end := strings.LastIndexByte(assertion, '.')
	if end < 0 {
		return nil, errors.New("the assertion was not signed for this service")
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(assertion[:end]))
	expected := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
	if !hmac.Equal([]byte(assertion[end+1:]), []byte(expected)) {
		return nil, errors.New("the assertion was not signed for this service")
	}
	payload, _, _ := strings.Cut(assertion, ".")
	message, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return nil, err
	}
	caller := &Caller{}
	var endpoint string
	var expires uint64
	err = fields(message, func(number, value uint64, content []byte) error {
		switch number {
		case 1:
			endpoint = string(content)
		case 2:
			caller.Namespace = string(content)
		case 3:
			return fields(content, func(number, _ uint64, content []byte) error {
				switch number {
				case 2:
					caller.Account = string(content)
				case 3:
					caller.Scopes = append(caller.Scopes, string(content))
				}
				return nil
			})
		case 6:
			expires = value
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case endpoint != resource:
		return nil, errors.New("the assertion is for another endpoint")
	case int64(expires) <= now.UnixMilli():
		return nil, errors.New("the assertion has expired")
	}
	return caller, nil
}

// fields calls each for the fields of a protobuf message: integers, and contents with a length.
func fields(message []byte, each func(number, value uint64, content []byte) error) error {
	for len(message) > 0 {
		tag, size := binary.Uvarint(message)
		value, length := binary.Uvarint(message[max(size, 0):])
		if size <= 0 || length <= 0 {
			return errors.New("the assertion is malformed")
		}
		message = message[size+length:]
		var content []byte
		if tag&7 == 2 {
			if value > uint64(len(message)) {
				return errors.New("the assertion is malformed")
			}
			content, message = message[:value], message[value:]
		} else if tag&7 != 0 {
			return errors.New("the assertion has a field of an unknown kind")
		}
		if err := each(tag>>3, value, content); err != nil {
			return err
		}
	}
	return nil
}
