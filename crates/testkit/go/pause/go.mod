module vmafx.dev/testkit/pause

go 1.26.0
