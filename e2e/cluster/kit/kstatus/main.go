// What Flux, and whatever else waits by kstatus, makes of statuses: a list of objects as JSON on standard input, a list of the words
// for them on standard output.
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
