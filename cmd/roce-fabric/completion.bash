# The functions of the package bash-completion that the script below calls, for a bash
# without it.
if ! declare -F _init_completion >/dev/null && ! declare -F _get_comp_words_by_ref >/dev/null; then
    # Sets cur, prev, words and cword; words are not cut at = and :.
    _get_comp_words_by_ref() {
        local line=$COMP_LINE i n=-1 at=0 gap word last= list=()
        for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
            word=${COMP_WORDS[i]}
            gap=${line%%"$word"*}
            line=${line#*"$word"}
            if [[ $i -gt 0 && -z $gap && ($word == [=:]* || $last == *[=:]) ]]; then
                list[n]+=$word
            else
                list[++n]=$word
            fi
            ((i == COMP_CWORD)) && at=$n
            last=$word
        done
        words=("${list[@]}")
        cword=$at
        cur=${words[cword]}
        prev=${words[cword > 0 ? cword - 1 : 0]}
    }

    # Completes folders (-d), or files with one of these extensions (yaml|yml|) and folders.
    _filedir() {
        local kind=-f name
        [[ ${1-} == -d ]] && kind=-d
        while IFS= read -r name; do
            if [[ $kind == -d || -z ${1-} || -d $name || "|$1" == *"|${name##*.}|"* ]]; then
                COMPREPLY+=("$name")
            fi
        done < <(compgen $kind -- "$cur")
        compopt -o filenames 2>/dev/null
    }
fi

# Escapes what a word adds to what was typed, cur.
__roce-fabric_escape() {
    case $1 in
    "$cur") printf %s "$1" ;;
    "$cur"*) printf %s%q "$cur" "${1#"$cur"}" ;;
    *) printf %q "$1" ;;
    esac
}

