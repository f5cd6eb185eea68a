// Reads a history of rules from standard input, one operation per line. Prints `linearizable` if
// one order of the operations explains every response. Otherwise prints a line for each rule
// without such an order: `not linearizable: <id> …`.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

// An operation on the rule with an ID. Each creation of a rule has its own priority.
type operation struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"` // create, delete or read
	Priority int    `json:"priority"`
	// The outcome: `done`, or `refused` because the rule exists or does not exist. After `unknown`,
	// the operation may still take effect.
	Outcome string `json:"outcome"`
	Read    int    `json:"read"` // for a read: the priority, -1 for an absent rule
	Client  int    `json:"client"`
	Call    int64  `json:"call"`   // in nanoseconds
	Return  int64  `json:"return"` // unused if the outcome is unknown
}

const absent = -1

func step(state, input, _ any) (bool, any) {
	present := state.(int)
	op := input.(operation)
	switch {
	case op.Kind == "read":
		return op.Read == present, present
	case op.Kind == "create" && present == absent:
		return op.Outcome != "refused", op.Priority
	case op.Kind == "delete" && present != absent:
		return op.Outcome != "refused", absent
	default:
		return op.Outcome != "done", present
	}
}

func main() {
	byID := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var op operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		end := op.Return
		if op.Outcome == "unknown" {
			end = math.MaxInt64
		}
		one := porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Return: end}
		byID[op.ID] = append(byID[op.ID], one)
	}
	model := porcupine.Model{Init: func() any { return absent }, Step: step}
	wrong := false
	for id, operations := range byID {
		result := porcupine.CheckOperationsTimeout(model, operations, 30*time.Second)
		if result == porcupine.Ok {
			continue
		}
		wrong = true
		fmt.Printf("not linearizable: %s, %d operations, %s\n", id, len(operations), result)
	}
	if wrong {
		os.Exit(1)
	}
	fmt.Println("linearizable")
}
