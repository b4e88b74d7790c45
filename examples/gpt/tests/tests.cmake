# A few steps of the smallest preset, the other verbs on what they leave, and mistakes.
set(work "${CMAKE_CURRENT_BINARY_DIR}/smoke")
set(text "${PROJECT_SOURCE_DIR}/CMakePresets.json")

# atled_add_gpt_test(<name> STATUS <number> OUTPUT <regex> ARGUMENTS <argument>...)
#
# A run of the program: its exit status, and what it must print.
function(atled_add_gpt_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "STATUS;OUTPUT" "ARGUMENTS")
  add_test(
    NAME example.gpt.${name}
    COMMAND "${CMAKE_COMMAND}" -D "STATUS=${arg_STATUS}" -D "OUTPUT=${arg_OUTPUT}" -P
            "${CMAKE_CURRENT_SOURCE_DIR}/tests/check_run.cmake" -- $<TARGET_FILE:example.gpt>
            ${arg_ARGUMENTS})
  set_tests_properties(example.gpt.${name} PROPERTIES LABELS example TIMEOUT 300
                       ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
endfunction()

atled_add_gpt_test(train STATUS 0 OUTPUT "validation loss [0-9.]+ nats a token, over all [0-9]+ tokens"
                   ARGUMENTS train --preset nano --steps 10 --data "${text}" --out "${work}" --overwrite)
atled_add_gpt_test(eval STATUS 0 OUTPUT "validation loss [0-9.]+ nats a token over [0-9]+ tokens"
                   ARGUMENTS eval --data "${text}" --out "${work}")
atled_add_gpt_test(sample STATUS 0 OUTPUT "^name"
                   ARGUMENTS sample --tokens 80 --prompt name --out "${work}")
add_test(NAME example.gpt.resume
         COMMAND "${CMAKE_COMMAND}" -D "WORK=${work}-resume" -P
                 "${CMAKE_CURRENT_SOURCE_DIR}/tests/check_resume.cmake" -- $<TARGET_FILE:example.gpt> train
                 --preset nano --steps 10 --eval-every 5 --data "${text}")
set_tests_properties(example.gpt.resume PROPERTIES LABELS example TIMEOUT 300
                     ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
set_tests_properties(example.gpt.train PROPERTIES FIXTURES_SETUP gpt_weights)
find_program(ATLED_TIMEOUT timeout)
mark_as_advanced(ATLED_TIMEOUT)
if(ATLED_TIMEOUT)  # a first signal ends the step, saves, and exits with 0
  add_test(
    NAME example.gpt.signal
    COMMAND "${CMAKE_COMMAND}" -D STATUS=0 -D "OUTPUT=stopped by signal 15 after step [0-9]+; the weights are saved"
            -P "${CMAKE_CURRENT_SOURCE_DIR}/tests/check_run.cmake" -- "${ATLED_TIMEOUT}" --preserve-status -s TERM 5
            $<TARGET_FILE:example.gpt> train --preset nano --steps 1000000 --data "${text}" --out "${work}-signal"
            --overwrite)
  set_tests_properties(example.gpt.signal PROPERTIES LABELS example TIMEOUT 60
                       ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
endif()

# atled_add_gpt_ranks_test(<name> RANKS <number> STATUS <number> OUTPUT <regex> ARGUMENTS <argument>...)
function(atled_add_gpt_ranks_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RANKS;STATUS;OUTPUT" "ARGUMENTS")
  add_test(
    NAME example.gpt.${name}
    COMMAND "${CMAKE_COMMAND}" -D "STATUS=${arg_STATUS}" -D "OUTPUT=${arg_OUTPUT}" -P
            "${CMAKE_CURRENT_SOURCE_DIR}/tests/check_run.cmake" -- "${MPIEXEC_EXECUTABLE}" -n ${arg_RANKS}
            --oversubscribe $<TARGET_FILE:example.gpt> ${arg_ARGUMENTS})
  set_tests_properties(
    example.gpt.${name}
    PROPERTIES LABELS example TIMEOUT 300 PROCESSORS 2
               ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMP_NUM_THREADS=1")
endfunction()
if(TARGET atled::mpi)  # the same on two ranks; then ranks that share a model: the weights are whole for one rank
  atled_add_gpt_ranks_test(ranks RANKS 2 STATUS 0
    OUTPUT "2 ranks: 24 rows.*validation loss [0-9.]+ nats a token"
    ARGUMENTS train --preset nano --steps 4 --data "${text}" --out "${work}-ranks" --overwrite)
  atled_add_gpt_ranks_test(pipe RANKS 2 STATUS 0  # with half of the layers on each
    OUTPUT "2 ranks: 24 rows.*validation loss [0-9.]+ nats a token"
    ARGUMENTS train --preset nano --pipe 2 --microbatches 8 --steps 4 --data "${text}" --out "${work}-pipe"
              --overwrite)
  atled_add_gpt_ranks_test(mesh RANKS 4 STATUS 0
    OUTPUT "4 ranks, 2 share a model: 24 rows.*validation loss [0-9.]+ nats a token"
    ARGUMENTS train --mesh data=2,model=2 --preset nano --steps 4 --data "${text}" --out "${work}-mesh"
              --overwrite)
  atled_add_gpt_test(mesh_eval STATUS 0 OUTPUT "validation loss [0-9.]+ nats a token over [0-9]+ tokens"
                     ARGUMENTS eval --data "${text}" --out "${work}-mesh")
  set_tests_properties(example.gpt.mesh PROPERTIES FIXTURES_SETUP gpt_mesh_weights)
  atled_add_gpt_ranks_test(fsdp RANKS 2 STATUS 0
    OUTPUT "2 ranks, each keeps a part of the state: 24 rows.*validation loss [0-9.]+ nats a token"
    ARGUMENTS train --fsdp --preset nano --steps 4 --data "${text}" --out "${work}-fsdp" --overwrite)
  set_tests_properties(example.gpt.mesh_eval PROPERTIES FIXTURES_REQUIRED gpt_mesh_weights)
  foreach(shared IN ITEMS mesh fsdp)  # the rows are those of two ranks with whole models
    add_test(NAME example.gpt.${shared}_loss
             COMMAND "${CMAKE_COMMAND}" -D "FIRST=${work}-ranks" -D "SECOND=${work}-${shared}" -D STEP=3 -P
                     "${CMAKE_CURRENT_SOURCE_DIR}/tests/check_same_loss.cmake")
    set_tests_properties(example.gpt.${shared}_loss PROPERTIES LABELS example FIXTURES_REQUIRED
                                                               "gpt_ranks_log;gpt_${shared}_weights")
  endforeach()
  set_tests_properties(example.gpt.ranks PROPERTIES FIXTURES_SETUP gpt_ranks_log)
  set_tests_properties(example.gpt.fsdp PROPERTIES FIXTURES_SETUP gpt_fsdp_weights)
  # One of the ranks says it: what follows is of mpiexec.
  atled_add_gpt_ranks_test(mistake.mesh_ranks RANKS 2 STATUS 2
    OUTPUT "^gpt: --mesh: train: data=2,model=3 on 2 ranks: it must be 2 . 3 = 6 ranks; [^\n]*\n--"
    ARGUMENTS train --mesh data=2,model=3 --out "${work}-none")
  atled_add_gpt_ranks_test(mistake.mesh_heads RANKS 3 STATUS 2
    OUTPUT "^gpt: --mesh: train: model=3 for preset nano: its heads .4. must be divisible by model .3.\n--"
    ARGUMENTS train --mesh model=3 --preset nano --data "${text}" --out "${work}-none")
endif()
atled_add_gpt_test(dry_run STATUS 0
                   OUTPUT "ranks +1024 .*parameters +3.24 MB.*along data +6.47 MB.*time of a step"
                   ARGUMENTS train --dry-run data=1024 --gflops 100 --link-gbytes 10)

# atled_add_gpt_mistake(<name> <regex> <argument>...): one sentence, and exit status 2.
function(atled_add_gpt_mistake name sentence)
  atled_add_gpt_test(mistake.${name} STATUS 2 OUTPUT "^gpt: ${sentence}[^\n]*\n$" ARGUMENTS ${ARGN})
endfunction()
atled_add_gpt_mistake(no_verb "command line: gpt: no verb: it must be train, sample or eval")
atled_add_gpt_mistake(verb "command line: gpt: trian: .*; did you mean train" trian)
atled_add_gpt_mistake(microbatches "--microbatches: train: 4: it must come with --pipe" train --microbatches 4)
atled_add_gpt_mistake(pipe "--pipe: train: 3 ranks, 8 microbatches of nano: it must be a pipeline that is part of"
                      train --pipe 3 --data "${text}" --out "${work}-none")
atled_add_gpt_mistake(pipe_ranks "--pipe: train: 2 ranks, 8 microbatches of nano: it must be started on as many"
                      train --pipe 2 --data "${text}" --out "${work}-none")
atled_add_gpt_mistake(unknown "--leanring-rate: train: .*; did you mean --learning-rate" train
                      --leanring-rate 1)
atled_add_gpt_mistake(other_verb "--steps: eval: an option of another verb" eval --steps 5)
atled_add_gpt_mistake(stray "command line: train: text.txt: each argument must belong to an option" train
                      text.txt)
atled_add_gpt_mistake(no_value "command line: train: --lr: 1 required RATE missing" train --lr)
atled_add_gpt_mistake(empty_value "--lr: train: no value after =" train --lr=)
atled_add_gpt_mistake(flag_value "command line: train: overwrite was given" train --overwrite=7)
atled_add_gpt_mistake(twice "--lr: train: 1 and 2: an option may be given once" train --lr 1 --lr 2)
foreach(rate IN ITEMS nan inf -1 0 1e-4x 1,5 0x1 abc)
  atled_add_gpt_mistake(rate.${rate} "--lr: train: ${rate}: it must be a number above 0" train --lr
                        ${rate})
endforeach()
foreach(steps IN ITEMS -1 1.5 1e3 4294967296)
  atled_add_gpt_mistake(steps.${steps} "--steps: train: ${steps}: it must be a whole number" train
                        --steps=${steps})
endforeach()
atled_add_gpt_mistake(mesh "--mesh: train: 2x3: it must be axes with sizes, as data=2,model=2" train --mesh 2x3)
atled_add_gpt_mistake(mesh.twice "--mesh: train: data=2,data=2: axis data is named twice" train --mesh
                      data=2,data=2)
atled_add_gpt_mistake(mesh.unknown "--mesh: train: modl=2: no mesh axis modl; it has data, model; did you mean model"
                      train --mesh modl=2)
atled_add_gpt_mistake(mesh.size "--mesh: train: 0: it must be a whole number from 1 to" train --mesh model=0)
atled_add_gpt_mistake(mesh.one "--mesh: train: model=2 on 1 rank: 1 rank is not a multiple of 2" train --mesh
                      model=2)
atled_add_gpt_mistake(preset "--preset: train: nanno: it must be one of .*; did you mean nano" train
                      --preset nanno)
atled_add_gpt_mistake(no_file "no/such/file: open: No such file" train --data no/such/file)
atled_add_gpt_mistake(folder "${PROJECT_SOURCE_DIR}: open: a directory" train --data
                      "${PROJECT_SOURCE_DIR}")
atled_add_gpt_mistake(short "${CMAKE_CURRENT_SOURCE_DIR}/tests/short.txt: read tokens: .* context . 1 are needed"
                      train --data "${CMAKE_CURRENT_SOURCE_DIR}/tests/short.txt" --out "${work}.short")
atled_add_gpt_mistake(no_weights "${work}.none/weights.safetensors: load: no such file" sample --out
                      "${work}.none")
atled_add_gpt_mistake(run_there "${work}: train: a folder that holds a run" train --data "${text}"
                      --out "${work}")
atled_add_gpt_mistake(resume_and_overwrite "--resume: train: together with --overwrite" train --resume
                      --overwrite)
atled_add_gpt_mistake(no_checkpoint "${work}.none: resume: no checkpoint" train --data "${text}" --out
                      "${work}.none" --resume)
atled_add_gpt_mistake(other_seed "${work}: resume: seed 5: the run began with 1337" train --data "${text}"
                      --out "${work}" --resume --seed 5)
atled_add_gpt_mistake(other_preset "${work}/weights.safetensors: load: weights of preset nano" sample
                      --preset small --out "${work}")
atled_add_gpt_mistake(unknown_character "--prompt @0 .*: encode: character" sample --prompt "€" --out
                      "${work}")
set_tests_properties(
  example.gpt.eval example.gpt.sample example.gpt.mistake.run_there example.gpt.mistake.other_seed example.gpt.mistake.other_preset
  example.gpt.mistake.unknown_character PROPERTIES FIXTURES_REQUIRED gpt_weights)

# What needs no model.
if(ATLED_BUILD_TESTS)
  find_package(Catch2 REQUIRED QUIET)
  atled_add_unit_test(gpt LABEL example SOURCES tests/sampler_test.cpp tests/draws_test.cpp
                                                tests/nearest_test.cpp tests/dry_run_test.cpp)
  target_sources(test.gpt PRIVATE sampler.cpp dry_run.cpp)
  target_include_directories(test.gpt PRIVATE "${PROJECT_SOURCE_DIR}/examples")
endif()
