"""The example of the README."""
import ebbing

# Five tasks: the same MNIST digits (embedded), their pixels shuffled anew for each task.
tasks = ebbing.tasks.permuted(length=5, examples=300)

forecast = ebbing.forecast(tasks)
print(forecast.answer[0])
#> Expect to lose 11 points of accuracy (5 to 20).
print(f"forgetting of task 1 after task 5: {forecast.forgetting[4, 0]:.2f} (loss on its training data)")
#> forgetting of task 1 after task 5: 0.87 (loss on its training data)

# How do two of them relate? Your own arrays work the same way.
(X1, y1, *_), (X2, y2, *_) = tasks[0], tasks[1]
pair = ebbing.order_parameters(X1, y1, X2, y2, depth=2)
print(f"similarity of features {pair.gamma_rf:.2f}, of rules {pair.gamma_rule:.2f}")
#> similarity of features 0.10, of rules 0.02

# A separate head for each task: which regime are 200 hidden units in?
print(ebbing.MultiHead(tasks[:2], width=200).regime)
#> overfitting
