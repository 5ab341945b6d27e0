package store_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"cairn/internal/storetest"
)

// TestMain runs the test binary as a separate bot where a test needs one to kill, and as a
// read-only process where a test needs one.
func TestMain(m *testing.M) {
	time.Local = time.UTC // the program's default: rendered text must not depend on the machine
	if dir := os.Getenv("CAIRN_TEST_BOT"); dir != "" {
		busyBot(dir)
	}
	if dir := os.Getenv("CAIRN_TEST_ERASE"); dir != "" {
		eraseAgainAndAgain(dir)
	}
	if dir := os.Getenv("CAIRN_TEST_HOLD"); dir != "" {
		from, _ := strconv.Atoi(os.Getenv("CAIRN_TEST_FROM"))
		holdAgainAndAgain(dir, from)
	}
	if dir := os.Getenv("CAIRN_TEST_LOOK"); dir != "" {
		readConcurrently(dir)
		return
	}
	storetest.Main(m)
}

var ctx = context.Background()
