# Features of all images of an image set, one row per image of the manifest.


rule expand_objects:
    input:
        sources="<sources>/learning-tasks",
        images="<results>/stimuli/things.txt",
    output:
        "<results>/features/things/spose-49.npy",
    log:
        "<logs>/expand_objects.log",
    benchmark:
        "<benchmarks>/expand_objects.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        code=code_of("learners.scaling"),
    shell:
        "python -m trialwise expand-objects"
        " --embedding {input.sources}/spose_embedding_49d_sorted.txt"
        " --objects {input.sources}/unique_id.csv --images {input.images}"
        " --output {output} 2>&1 | tee {log}"
