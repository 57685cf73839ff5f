# Completion of ssd-exporter for bash. Written by packaging/completion.py.

_ssd_exporter_flags() {
  case $1 in
@FLAGS@
  esac
}

_ssd_exporter_operand() {
  case $1 in
@OPERANDS@
  esac
}

_ssd_exporter_value() {
  case $1 in
@VALUES@
  esac
}

# Completes a value: from a list of words, or by the kind of value.
_ssd_exporter_fill() {
  local kind=$1 current=$2
  compopt +o nospace 2>/dev/null
  case $kind in
    '<FILE>') compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    '<DIR>') compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    '<PROGRAM>') mapfile -t COMPREPLY < <(compgen -c -f -- "$current") ;;
    '<DEVICE>')
      mapfile -t COMPREPLY < <(
        compgen -W "$(ls -d /dev/sd?* /dev/nvme[0-9]* 2>/dev/null)" -- "$current"
      ) ;;
    '<LEVEL>') mapfile -t COMPREPLY < <(compgen -W 'debug info warning error' -- "$current") ;;
    '<FORMAT>') mapfile -t COMPREPLY < <(compgen -W 'logfmt json' -- "$current") ;;
    '<'*) COMPREPLY=() ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$kind" -- "$current") ;;
  esac
}

_ssd_exporter() {
  COMPREPLY=()
  # Bash splits words at = and :, which occur within flags.
  local line=${COMP_LINE:0:COMP_POINT} words current previous command='' place=0 word
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=${words[-1]}
  previous=${words[-2]-}
  if [[ ${words[1]-} != "$current" || ${#words[@]} -gt 2 ]]; then
    case " @COMMANDS@ " in *" ${words[1]-} "*) command=${words[1]} ;; esac
  fi
  if [[ $current == --*=* ]]; then
    _ssd_exporter_fill "$(_ssd_exporter_value "${current%%=*}")" "${current#*=}"
    return
  fi
  if [[ $previous == --* && $previous != *=* ]]; then
    local kind
    kind=$(_ssd_exporter_value "$previous")
    if [[ -n $kind ]]; then
      _ssd_exporter_fill "$kind" "$current"
      return
    fi
  fi
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_ssd_exporter_flags "$command")" -- "$current")
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return
  fi
  if [[ -z $command ]]; then
    [[ ${#words[@]} -le 2 ]] &&
      mapfile -t COMPREPLY < <(compgen -W '@COMMANDS@' -- "$current")
    return
  fi
  for word in "${words[@]:2:${#words[@]}-3}"; do
    [[ $word == -* ]] || place=$((place + 1))
  done
  _ssd_exporter_fill "$(_ssd_exporter_operand "$command:$place")" "$current"
}

complete -F _ssd_exporter ssd-exporter
