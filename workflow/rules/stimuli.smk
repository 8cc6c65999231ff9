# Image sets: the names of their images, in the order of all features.


rule list_things:
    input:
        "<sources>/learning-tasks",
    output:
        "<results>/stimuli/things.txt",
    log:
        "<logs>/list_things.log",
    benchmark:
        "<benchmarks>/list_things.tsv"
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    shell:
        "cp {input}/things_images_26107.txt {output} 2> {log}"


rule list_images:
    input:
        lambda wildcards: image_folder(wildcards.images),
    output:
        "<results>/stimuli/{images}.txt",
    log:
        "<logs>/list_images/{images}.log",
    benchmark:
        "<benchmarks>/list_images/{images}.tsv"
    wildcard_constraints:
        images="|".join(sorted({*IMAGE_FOLDERS} - {"simulated"})),
    conda:
        "../../envs/main.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=10,
    params:
        code=code_of("stimuli"),
    shell:
        "python -m trialwise list-images --root {input} --output {output}"
        " 2>&1 | tee {log}"
