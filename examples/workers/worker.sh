#!/bin/sh
# A worker in shell: operations on a key-value service, GET and PUT /kv/KEY, as JSON lines.
# It needs curl and jq.

while IFS= read -r line; do
    eval "$(printf '%s' "$line" | jq -r '@sh "id=\(.id) kind=\(.kind) seconds=\(.timeout_ms / 1000)
        url=\("http://" + .endpoint + "/kv/" + .key) body=\({value: .input} | tojson)"')"
    set -- --silent --noproxy '*' --max-time "$seconds" --write-out '\n%{http_code}'
    [ "$kind" = write ] && set -- "$@" --request PUT --header 'content-type: application/json' --data "$body"
    answer=$(curl "$@" "$url")
    ended=$?
    status=$(printf '%s' "$answer" | tail -n 1)
    if [ "$ended" -eq 7 ]; then # could not connect: nothing was sent, so it did not happen
        jq -cn --argjson id "$id" '{id: $id, outcome: "fail", error: "refused"}'
    elif [ "$status" = 200 ]; then
        printf '%s' "$answer" | sed '$d' | jq -c --argjson id "$id" '{id: $id, outcome: "ok", output: .value}'
    elif [ "$status" = 404 ]; then
        jq -cn --argjson id "$id" '{id: $id, outcome: "ok", output: null}'
    else # sent, and no usable answer: nobody knows
        jq -cn --argjson id "$id" --arg error "curl $ended, HTTP $status" '{id: $id, outcome: "info", error: $error}'
    fi
done
