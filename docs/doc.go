// Package docs holds the pages for users. Its test keeps the list of keys in
// intent.md as the intent's schema has it; no product code imports it.
package docs

//go:generate go test . -run TestIntentKeys -update
