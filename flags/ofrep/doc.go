// Package ofrep serves flags to tasks over HTTP.
//
// Any OpenFeature SDK evaluates by the OpenFeature Remote Evaluation Protocol:
//
//	POST /ofrep/v1/evaluate/flags/{key}   one flag
//	POST /ofrep/v1/evaluate/flags         all flags of the namespace
//
// A provider that decides by itself fetches a snapshot, at the addresses and in
// the JSON of Flipt v1 and v2, so that it need not know whose it is:
//
//	GET /internal/v1/evaluation/snapshot/namespace/{namespace}
//	GET /client/v2/environments/default/namespaces/{namespace}/snapshot
//
// OFREP takes the namespace from the header X-Flipt-Namespace, else "default".
// There is one environment, "default".
//
// One thing is not as in Flipt: who sends no targeting key is refused. Flipt
// draws a random one for each call, and the task would flap between endpoints.
//
// The package only reads flags. It knows nothing of rollouts, and nothing of who
// may ask: whoever mounts the handler checks that first.
package ofrep
