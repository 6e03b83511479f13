// Command kstatus prints the kstatus of objects, by which Flux and other tools wait. It reads a list of objects as JSON from
// standard input, and prints a list of statuses.
package main

import (
	"encoding/json"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	var objects []json.RawMessage
	check(json.NewDecoder(os.Stdin).Decode(&objects))
	words := make([]string, 0, len(objects))
	for _, text := range objects {
		object := &unstructured.Unstructured{}
		check(object.UnmarshalJSON(text))
		result, err := status.Compute(object)
		check(err)
		words = append(words, string(result.Status))
	}
	check(json.NewEncoder(os.Stdout).Encode(words))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
