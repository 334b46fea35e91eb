.DEFAULT_GOAL := help
VENV := .venv
PY := $(VENV)/bin/python

.PHONY: protos
protos: ## generate the stubs of protos/ into the package
	$(PY) -m grpc_tools.protoc --proto_path=protos --python_out=clients --pyi_out=clients --grpc_python_out=clients \
		$$(cd protos && find vivavoce -name '*.proto')
