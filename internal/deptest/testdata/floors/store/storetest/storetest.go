package storetest

import _ "testing"
