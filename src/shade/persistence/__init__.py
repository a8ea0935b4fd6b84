"""Files of models: reading, checking and writing them, and the encoder alone as ONNX."""
