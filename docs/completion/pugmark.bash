# SPDX-License-Identifier: LGPL-2.1-or-later
# Bash completion of pugmark. Commands and options are asked of the program itself, so that they
# are those of the version at hand.

_pugmark()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev= command=${COMP_WORDS[1]} words= i
	[ "$COMP_CWORD" -gt 0 ] && prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()

	if [ "$COMP_CWORD" = 1 ]; then
		words="$("${COMP_WORDS[0]}" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p') --help --version"
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then # the words after it are a command of their own
			if [ $((COMP_CWORD - i)) = 1 ]; then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi
	done

	if [[ $prev == --* ]]; then # its help may name the values: --format text|json
		words=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null |
			sed -nE "s/.*(^|[ ,])$prev ([a-z-]+(\|[a-z-]+)+).*/\2/p" | head -n 1 | tr '|' ' ')
	elif [ "$prev" = -p ]; then
		words=$(cd /proc && printf '%s\n' [0-9]*)
	fi
	if [ -z "$words" ] && [[ $cur == -* ]]; then
		words=$("${COMP_WORDS[0]}" "$command" --help 2>/dev/null |
			grep -oE -- '(^|[[:space:],|[(])--?[A-Za-z][a-z-]*' | grep -oE -- '-.*' | sort -u)
	fi
	if [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	elif [[ $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -o filenames -F _pugmark pugmark
