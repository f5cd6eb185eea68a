module portico.test/showcase

go 1.26

require github.com/googleapis/gapic-showcase v0.35.0
