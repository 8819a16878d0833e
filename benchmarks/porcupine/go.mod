module porcupine-bench

go 1.19

require github.com/anishathalye/porcupine v1.1.0
