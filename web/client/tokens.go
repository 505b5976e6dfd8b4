package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Grant is a role, for some databases; none means all.
type Grant struct {
	Role      string   `json:"role"`
	Databases []string `json:"databases,omitempty"`
}

// Token is a token without its secret: whose it is, and what it may do.
type Token struct {
	Name    string    `json:"name"`
	Grants  []Grant   `json:"grants"`
	Service string    `json:"service,omitempty"` // of a reporter
	Expires time.Time `json:"expires,omitzero"`
}

// Whoami is whose token the client has.
type Whoami struct {
	Token

	May map[string][]string `json:"may"` // what it may do, and on which databases; * is all
}

// Whoami returns whose token the client has, and what it may do.
func (c *Client) Whoami(ctx context.Context) (Whoami, error) {
	var who Whoami
	err := c.ask(ctx, request{method: http.MethodGet, path: []string{"whoami"}}, &who)
	return who, err
}

// Tokens returns all tokens there are, without their secrets.
func (c *Client) Tokens(ctx context.Context) ([]Token, error) {
	return pages(func(after string) ([]Token, string, error) {
		query := url.Values{}
		set(query, "after", after)
		var body struct {
			Tokens []Token `json:"tokens"`
			Next   string  `json:"next"`
		}
		err := c.ask(ctx, request{method: http.MethodGet, path: []string{"tokens"}, query: query}, &body)
		return body.Tokens, body.Next, err
	})
}

// MakeToken makes a token that is good for a while, 0 for ever, and returns its
// secret, which nobody can be told again. Of the token, Name, Grants and Service
// are sent.
func (c *Client) MakeToken(ctx context.Context, t Token, goodFor time.Duration, reqID string) (string, Token, error) {
	body := struct {
		Name      string  `json:"name"`
		Grants    []Grant `json:"grants"`
		Service   string  `json:"service,omitempty"`
		ExpiresIn string  `json:"expires_in,omitempty"`
	}{Name: t.Name, Grants: t.Grants, Service: t.Service}
	if goodFor > 0 {
		body.ExpiresIn = goodFor.String()
	}
	var made struct {
		Token

		Secret string `json:"token"`
	}
	err := c.tell(ctx, request{method: http.MethodPost, path: []string{"tokens"}, key: reqID}, body, &made)
	return made.Secret, made.Token, err
}

// TakeToken takes a token away; nobody can use it any more.
func (c *Client) TakeToken(ctx context.Context, name, reqID string) error {
	return c.ask(ctx, request{method: http.MethodDelete, path: []string{"tokens", name}, key: reqID}, nil)
}
