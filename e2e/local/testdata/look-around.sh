#!/bin/sh
# An MCP server on standard input and output that needs only a shell, and returns its environment. Port 8080 serves a page.
mkdir -p /tmp/www && echo here >/tmp/www/index.html && httpd -p 8080 -h /tmp/www

look() {
  status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }
  try() { if echo written 2>/dev/null >"$1"; then echo written; else echo refused; fi; }
  printf '{"capabilities":"%s","noNewPrivileges":"%s","interfaces":"%s","secret":"%s","read":"%s","write":"%s"}' \
    "$(status CapBnd)" "$(status NoNewPrivs)" "$(ls /sys/class/net | tr '\n' ' ')" "$(printf %s "$API_KEY" | sha256sum | cut -c1-64)" \
    "$(try /read/new 2>/dev/null)" "$(try /write/new 2>/dev/null)"
}

while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
  *'"tools/list"'*) result='{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*) result="{\"content\":[],\"structuredContent\":$(look)}" ;;
  *) result='{}' ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"; fi
done
