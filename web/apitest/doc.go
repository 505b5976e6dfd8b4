// Package apitest holds a server of the API to its description in OpenAPI: each
// request that it obeys, and each answer that it gives. It is for tests.
package apitest
