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
        mem_mb=500,
        runtime=10,
    shell:
        "cp {input}/things_images_26107.txt {output} 2> {log}"
