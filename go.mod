module github.com/seed-c8cbbb61/cutover

go 1.26.0
