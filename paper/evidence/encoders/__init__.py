"""The study of heads on encoders: features, sequences, training, forecasts, what they show."""
