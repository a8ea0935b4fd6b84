"""Files of models: reading, checking and writing them, and export of the encoder as ONNX."""
