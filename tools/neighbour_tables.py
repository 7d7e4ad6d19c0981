"""Print the tables of docs/neighbours.md: bias and variance, columns of noise, beside a vector machine.

In: nothing but scikit-learn's own data sets. Out, on standard output: three tables in Markdown. Everything
random has a seed; the last table, which chooses parameters inside of folds, takes about a minute.
"""

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hornbeam as hb

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
Table = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def main() -> None:
    """Print all tables."""
    bias_and_variance()
    columns_of_noise()
    beside_a_support_vector_machine()


def bias_and_variance() -> None:
    """How the error of k-NN splits up: over bootstrap samples of one table, and over tables drawn anew."""
    rng = np.random.default_rng(0)

    def drawn() -> Table:
        x = rng.uniform(-1, 1, (300, 1))
        return x, np.sin(6 * x[:, 0]) + 0.3 * rng.normal(size=300)

    X, y = drawn()
    grid = np.linspace(-1, 1, 200)[:, None]
    truth = np.sin(6 * grid[:, 0])
    print_row("k", "error", "variance", "bias²", "bias² over fresh tables")
    print_row(*["---"] * 5)
    for k in (1, 2, 5, 10, 20, 50):
        model = hb.KNeighborsRegressor(k)
        found = hb.bias_variance(model, X, y, X_test=grid, y_test=truth, n=60, random_state=0)
        fresh = np.mean([model.fit(*drawn()).predict(grid) for _ in range(40)], axis=0)
        bias = np.mean((fresh - truth) ** 2)
        print_row(k, *(f"{value:.3f}" for value in (found.error, found.variance, found.bias, bias)))
    print()


def columns_of_noise() -> None:
    """The share of wrong answers in two moons beside more and more columns that mean nothing."""
    X, y = make_moons(1000, noise=0.3, random_state=0)
    print_row("columns of noise", "15-NN", "random forest")
    print_row(*["---"] * 3)
    for count in (0, 1, 2, 5, 10, 20, 50, 100):
        noisy = np.hstack([X, np.random.default_rng(count).normal(size=(1000, count))])
        models = (
            hb.KNeighborsClassifier(15, scale="standard"),
            hb.RandomForestClassifier(100, random_state=0),
        )
        print_row(count, *(f"{1 - accuracy(model, noisy, y):.3f}" for model in models))
    print()


def beside_a_support_vector_machine() -> None:
    """Accuracy of neighbours, the kernel classifier and SVC(kernel="rbf"), as they are and well chosen."""
    tables = {
        "two moons, 500 rows, noise 0.3": make_moons(500, noise=0.3, random_state=0),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": load_digits(return_X_y=True),
    }
    chosen = ("k-NN, chosen k", "kernel, median bandwidth", "kernel, chosen bandwidth")
    print_row("", "1-NN", *chosen, "SVC", "SVC, chosen")
    print_row(*["---"] * 7)
    for name, (X, y) in tables.items():
        n_columns = X.shape[1]
        kernel = hb.KNeighborsClassifier(n_neighbors=None, weights="gaussian", scale="standard")
        machine = make_pipeline(StandardScaler(), SVC())
        widths = np.array([0.02, 0.05, 0.1, 0.2, 0.5, 1]) * np.sqrt(n_columns)
        gammas = np.array([0.1, 0.3, 1, 3, 10]) / n_columns
        nearest = hb.KNeighborsClassifier(scale="standard")
        models = (
            hb.KNeighborsClassifier(1, scale="standard"),
            GridSearchCV(nearest, {"n_neighbors": [1, 3, 5, 9, 15, 25, 45]}),
            kernel,
            GridSearchCV(kernel, {"bandwidth": widths.tolist()}),
            machine,
            GridSearchCV(machine, {"svc__C": [0.1, 1, 10, 100], "svc__gamma": gammas.tolist()}),
        )
        print_row(name, *(f"{accuracy(model, X, y):.3f}" for model in models))


def accuracy(model: object, X: npt.NDArray[np.float64], y: npt.NDArray[np.int_]) -> float:
    """Return the mean accuracy in the folds."""
    return float(np.mean(cross_val_score(model, X, y, cv=FOLDS)))


def print_row(*cells: object) -> None:
    """Print a row of a table in Markdown."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()
