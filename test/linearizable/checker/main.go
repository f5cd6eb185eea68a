// Reads a history of rules from standard input, an operation a line, and says whether one order of its operations explains every
// answer: `linearizable`, or `not linearizable: <id> …`, a line for each rule whose answers none explains.
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

// An operation on the rule of an ID. A rule's priority tells its creations apart.
type operation struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"` // create, delete or read
	Priority int    `json:"priority"`
	// What was answered: done or refused, by the rule's being there or not; or unknown, and then it may still take effect.
	// Of a read the priority, -1 for an absent rule.
	Outcome string `json:"outcome"`
	Read    int    `json:"read"`
	Client  int    `json:"client"`
	Call    int64  `json:"call"`   // in nanoseconds
	Return  int64  `json:"return"` // not of an unknown outcome
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
