"""Models of other libraries as models of this one: `hornbeam.from_model`.

    front.py            what is given: a fitted model or a file; the comparison of the answers
    foreign_trees.py    trees as others have them, and ours from them
    thresholds.py       comparisons in single precision as comparisons in double precision
    sklearn_trees.py    scikit-learn's trees, forests and extra trees
    hist_boosting.py    scikit-learn's histogram gradient boosting
    lightgbm_text.py    LightGBM's text
    xgboost_model.py    XGBoost's JSON and, by ubjson.py, its binary JSON
    catboost_json.py    CatBoost's JSON

Files are parsed as data. Nothing is unpickled, and nothing of another library is imported to read them.
"""
