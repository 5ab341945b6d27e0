package privacy_test

import (
	"context"
	"testing"

	"cairn/internal/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var ctx = context.Background()
