# Weights of the registered models, and their features of all images of an image set, one
# row per image of its manifest; decisions of ImageNet classifiers.


localrules:
    get_weights,


rule get_weights:
    output:
        directory("<sources>/weights/{model}"),
    log:
        "<logs>/get_weights/{model}.log",
    benchmark:
        "<benchmarks>/get_weights/{model}.tsv"
    conda:
        "../../envs/models.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=120,
    params:
        code=code_of("models.weights"),
        models=MODEL_TABLE,
        files=lambda wildcards: [
            MODELS[wildcards.model].url,
            MODELS[wildcards.model].sha256,
        ],
    shell:
        "python -m trialwise get-weights --models {params.models}"
        " --model {wildcards.model} --output {output} 2>&1 | tee {log}"


rule extract_features:
    input:
        unpack(feature_inputs),
    output:
        features="<results>/features/{images}/{model}.npy",
        sidecar="<results>/features/{images}/{model}.json",
    log:
        "<logs>/extract_features/{images}-{model}.log",
    benchmark:
        "<benchmarks>/extract_features/{images}-{model}.tsv"
    wildcard_constraints:
        model="|".join(model for model in MODELS if model not in SYNTHETIC),
    conda:
        "../../envs/models.yaml"
    threads: 2
    resources:
        mem_mb=growing(4000),
        runtime=1440,
    params:
        code=lambda wildcards: code_of(*code_of_provider(wildcards.model)),
        python=lambda wildcards: interpreter_of(wildcards.model),
        models=MODEL_TABLE,
        recipe=lambda wildcards: recipe_of(wildcards.model),
        settings=lambda wildcards, input, threads: json.dumps(
            {"places": feature_places(wildcards, input), "threads": threads}
        ),
    shell:
        "{params.python:q} -m trialwise extract-features --models {params.models}"
        " --model {wildcards.model} --images {input.images}"
        " --settings {params.settings:q} --output {output.features} 2>&1 | tee {log}"


rule find_twins:
    input:
        lambda wildcards: [
            f"<results>/features/{wildcards.images}/{model}.npy"
            for model in available(LEARNING["models"], wildcards.images)
        ],
    output:
        "<results>/features/{images}/twins.csv",
    log:
        "<logs>/find_twins/{images}.log",
    benchmark:
        "<benchmarks>/find_twins/{images}.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=60,
    params:
        code=code_of("models.twins"),
    shell:
        "python -m trialwise find-twins --input {input} --output {output}"
        " 2>&1 | tee {log}"


rule decide_categories:
    input:
        images="<results>/stimuli/{images}.txt",
        root=lambda wildcards: image_folder(wildcards.images),
        weights="<sources>/weights/{model}",
        categories="<sources>/imagenet-categories",
    output:
        "<results>/decisions/{images}/{model}.csv",
    log:
        "<logs>/decide_categories/{images}-{model}.log",
    benchmark:
        "<benchmarks>/decide_categories/{images}-{model}.tsv"
    conda:
        "../../envs/models.yaml"
    threads: 2
    resources:
        mem_mb=growing(4000),
        runtime=120,
    params:
        code=lambda wildcards: code_of(
            "models.decisions", *code_of_provider(wildcards.model)
        ),
        models=MODEL_TABLE,
        recipe=lambda wildcards: recipe_of(wildcards.model),
        settings=lambda wildcards, threads: json.dumps({"threads": threads}),
    shell:
        "python -m trialwise decide-categories --models {params.models}"
        " --model {wildcards.model} --weights {input.weights} --root {input.root:q}"
        " --images {input.images}"
        " --categories {input.categories}/imagenet_to_16_categories.csv"
        " --settings {params.settings:q} --output {output} 2>&1 | tee {log}"
