// Times Porcupine on histories that bench_porcupine.py wrote: one JSON operation a line, for each file one
// line "seconds verdict" back. Reading is not timed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

type call struct {
	Kind, Key string
	In        []string
	Out       *string // nil: not written
	Known     bool
	Hit       bool // of a compare-and-set: whether it took effect
	Start     int64
	End       int64
	Client    int
}

// The state is what the register holds; "" is nothing. A call whose answer is not known allows any.
func step(state, input, _ interface{}) (bool, interface{}) {
	held, op := state.(string), input.(call)
	out := ""
	if op.Out != nil {
		out = *op.Out
	}
	switch op.Kind {
	case "read":
		return !op.Known || out == held, held
	case "write":
		return true, op.In[0]
	case "append":
		return true, held + op.In[0]
	case "cas":
		if held == op.In[0] {
			return !op.Known || op.Hit, op.In[1]
		}
		return !op.Known || !op.Hit, held
	}
	panic(op.Kind)
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	for _, operation := range history {
		key := operation.Input.(call).Key
		parts[key] = append(parts[key], operation)
	}
	var all [][]porcupine.Operation
	for _, part := range parts {
		all = append(all, part)
	}
	return all
}

func load(path string) (history []porcupine.Operation) {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var op call
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			panic(err)
		}
		history = append(history, porcupine.Operation{
			ClientId: op.Client, Input: op, Call: op.Start, Output: op, Return: op.End,
		})
	}
	return history
}

func main() {
	limit, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	model := porcupine.Model{
		Init: func() interface{} { return "" }, Step: step, Partition: byKey,
		Equal: func(one, other interface{}) bool { return one == other },
	}
	for _, path := range os.Args[2:] {
		history := load(path)
		began := time.Now()
		verdict := porcupine.CheckOperationsTimeout(model, history, time.Duration(limit)*time.Second)
		fmt.Printf("%.6f %s\n", time.Since(began).Seconds(), verdict)
	}
}
