"""The authors' files are fetched when asked for, and never otherwise."""


def test_fetching_is_a_target_of_its_own(folder):
    assert folder.plan("fetch_authors_files") == {
        "get_source": 1,
        "fetch_authors_files": 1,
        "total": 2,
    }


def test_fetching_is_part_of_no_other_target(folder):
    assert "fetch_authors_files" not in folder.plan("all", study=None)


def test_features_that_were_laid_out_take_the_place_of_weights_and_images(folder):
    laid_out = folder.path / "results" / "sources" / "authors-features"
    folder.write_study(precomputed={"things": "results/sources/authors-features"})
    target = "results/small/features/things/resnet18.npy"
    assert "get_weights" in folder.plan(target)
    laid_out.mkdir(parents=True)
    for name in ("resnet18.npy", "file_names.txt"):
        (laid_out / name).touch()
    assert folder.plan(target) == {
        "get_source": 1,
        "list_things": 1,
        "extract_features": 1,
        "total": 3,
    }
