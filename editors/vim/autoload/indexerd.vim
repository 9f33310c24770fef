vim9script
# Asks the daemon of indexerd: JSON lines over its socket (docs/protocol.md), one connection a question.

const NONE = 'no daemon runs: start one with `indexerd watch ROOT` in a shell'

# The folder of the user's sockets; empty if it is not there, or if somebody else could put a socket there.
def RuntimeDir(): string
  const place = $XDG_RUNTIME_DIR =~ '^/' ? substitute($XDG_RUNTIME_DIR, '/\+$', '', '') .. '/indexerd'
    : '/tmp/indexerd-' .. trim(system('id -u'))
  const private = 'find ' .. shellescape(place) .. ' -prune -type d -user "$(id -u)" ! -perm /022 2>/dev/null'
  return empty(system(private)) ? '' : place
enddef

def Call(socket: string, method: string, params: dict<any>): dict<any>
  const patience = get(g:, 'indexerd_timeout_ms', 10000)
  const channel = ch_open('unix:' .. socket, {mode: 'nl'})
  if ch_status(channel) != 'open'
    throw 'indexerd: no daemon answers at ' .. socket
  endif
  const line = json_encode({id: 1, method: method, params: extend({protocol: 1}, params)})
  const answer = ch_evalraw(channel, line .. "\n", {timeout: patience})
  ch_close(channel)
  if empty(answer)
    throw 'indexerd: the daemon at ' .. socket .. ' does not answer'
  endif
  const reply = json_decode(answer)
  if has_key(reply, 'error')
    throw 'indexerd: ' .. reply.error.message
  endif
  return reply.result
enddef

def IsBelow(path: string, root: string): bool
  return path ==# root || stridx(path, substitute(root, '/\+$', '', '') .. '/') == 0
enddef

def Holds(root: string, path: string): bool
  return IsBelow(path, root) || IsBelow(resolve(path), resolve(root))
enddef

# The daemon that is meant, in the order of the command line.
def Socket(): string
  const named = get(g:, 'indexerd_socket', '')
  const profile = get(g:, 'indexerd_profile', '')
  if !empty(named)
    return fnamemodify(named, ':p')
  elseif !empty(profile)
    return RuntimeDir() .. '/' .. profile .. '.sock'
  elseif !empty($INDEXERD_SOCKET)
    return fnamemodify($INDEXERD_SOCKET, ':p')
  endif
  const folder = RuntimeDir()
  const names = empty(folder) ? [] : readdir(folder, (name) => name =~ '\.sock$')
  if empty(names)
    throw 'indexerd: ' .. NONE
  endif
  return len(names) == 1 ? folder .. '/' .. names[0] : Chosen(mapnew(names, (_, name) => folder .. '/' .. name))
enddef

def Chosen(sockets: list<string>): string
  var best = ''
  var length = -1
  var running: list<string> = []
  for socket in sockets
    var roots: list<string> = []
    try
      roots = mapnew(Call(socket, 'status', {}).roots, (_, root) => root.path)
    catch /^indexerd:/
      continue
    endtry
    add(running, socket)
    for root in roots
      if Holds(root, getcwd()) && len(root) > length
        [best, length] = [socket, len(root)]
      endif
    endfor
  endfor
  if empty(best) && len(running) != 1
    const list = join(mapnew(running, (_, socket) => fnamemodify(socket, ':t:r')), ', ')
    throw 'indexerd: ' .. (empty(running) ? NONE : 'several daemons run and none has a root that holds this folder; '
      .. 'name one by g:indexerd_profile: ' .. list)
  endif
  return empty(best) ? running[0] : best
enddef

def Hits(text: string, limit: number): list<dict<any>>
  const params = extend({text: text, k: limit}, get(g:, 'indexerd_params', {}))
  const result = Call(Socket(), 'query', params)
  if empty(result.hits)
    const unmatched = get(result, 'unmatched', [])
    const why = empty(unmatched) ? '' : '; in no document: ' .. join(unmatched, ', ')
    const states = {building: '; the first index is being built', pending: '; not everything is indexed yet'}
    const problem = get(result.freshness, 'problem', {})
    const behind = empty(problem) ? get(states, result.freshness.state, '') : '; see `indexerd doctor`: ' .. problem.code
    throw 'indexerd: nothing found' .. why .. behind
  endif
  return result.hits
enddef

# The file of a hit, exactly: a name that is not UTF-8 comes as bytes in base64.
def Path(hit: dict<any>): string
  if hit.path != null
    return hit.path
  endif
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  var name = ''
  var bits = 0
  var count = 0
  for char in split(substitute(hit.path_b64, '=', '', 'g'), '\zs')
    bits = bits * 64 + stridx(alphabet, char)
    count += 6
    if count >= 8
      count -= 8
      name ..= eval(printf('"\x%02x"', bits / float2nr(pow(2, count))))
      bits = bits % float2nr(pow(2, count))
    endif
  endfor
  return name
enddef

def Entry(hit: dict<any>): dict<any>
  const lines = split(hit.text, "\n", true)
  const text = substitute(get(lines, hit.line - hit.start_line, hit.title), '[[:cntrl:]]\+', ' ', 'g')
  return {bufnr: bufadd(Path(hit)), lnum: hit.line, end_lnum: hit.end_line, col: hit.column, text: trim(text, ' ', 2)}
enddef

def Tell(problem: string)
  echohl ErrorMsg
  echomsg substitute(problem, '[[:cntrl:]]\+', ' ', 'g')
  echohl None
enddef

# Search into the quickfix list, or the location list of this window, and show it.
export def Search(text: string, local: bool)
  try
    const list = {title: 'indexerd: ' .. text, items: mapnew(Hits(text, get(g:, 'indexerd_limit', 30)), (_, hit) => Entry(hit))}
    if local
      setloclist(0, [], ' ', list)
      lopen
    else
      setqflist([], ' ', list)
      copen
    endif
  catch /^indexerd:/
    Tell(v:exception)
  endtry
enddef

# Insert the full citation of the best hit behind the cursor.
export def Insert(text: string)
  try
    const hit = Hits(text, 1)[0]
    const citation = hit.citation .. '@sha256:' .. hit.content_hash
    const pairs = filter(['[]', '<>', '``', '""', '()'], (_, pair) => stridx(citation, pair[0]) < 0 && stridx(citation, pair[1]) < 0)
    const [open, close] = empty(pairs) ? ['', ''] : [pairs[0][0], pairs[0][1]]
    const kept = getreginfo('z')
    setreg('z', open .. citation .. close, 'v')
    normal! "zp
    setreg('z', kept)
  catch /^indexerd:/
    Tell(v:exception)
  endtry
enddef
