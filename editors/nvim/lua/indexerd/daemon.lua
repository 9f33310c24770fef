-- Where the daemon is, in the order of the command line; and how one is started.
local options = require('indexerd.options')
local uv = vim.loop

local M = {}

M.NONE = 'no daemon runs: start one with :IndexerdStart ROOT, or `indexerd watch ROOT` in a shell'

local function runtime_dir()
  local place = vim.env.XDG_RUNTIME_DIR or ''
  if place:sub(1, 1) == '/' then
    return (place:gsub('/+$', '')) .. '/indexerd'
  end
  return '/tmp/indexerd-' .. uv.getuid()
end

-- A folder in /tmp may be somebody else's: their socket would hear what is asked.
local function is_private(folder)
  local found = uv.fs_lstat(folder)
  return found and found.type == 'directory' and found.uid == uv.getuid() and bit.band(found.mode, 18) == 0
end

local function present()
  local folder, sockets = runtime_dir(), {}
  local scan = is_private(folder) and uv.fs_scandir(folder)
  while scan do
    local name = uv.fs_scandir_next(scan)
    if not name then
      break
    end
    if name:sub(-5) == '.sock' then
      table.insert(sockets, folder .. '/' .. name)
    end
  end
  table.sort(sockets)
  return sockets
end

local function named()
  local socket = options.now.socket ~= '' and options.now.socket or nil
  if not socket and options.now.profile ~= '' then
    return runtime_dir() .. '/' .. options.now.profile .. '.sock'
  end
  socket = socket or vim.env.INDEXERD_SOCKET
  return socket and socket ~= '' and vim.fn.fnamemodify(socket, ':p') or nil
end

local function is_below(path, root)
  return path == root or vim.startswith(path, (root:gsub('/+$', '')) .. '/')
end

local function holds(root, path)
  local real, real_root = uv.fs_realpath(path) or path, uv.fs_realpath(root) or root
  return is_below(path, root) or is_below(real, root) or is_below(real, real_root)
end

--- Of the daemons that answered, the one whose innermost root holds a folder; else the only one; else nil.
function M.choose(roots_of, folder)
  local best, length, count, any = nil, -1, 0, nil
  for socket, roots in pairs(roots_of) do
    count, any = count + 1, socket
    for _, root in ipairs(roots) do
      if holds(root, folder) and #root > length then
        best, length = socket, #root
      end
    end
  end
  return best or (count == 1 and any) or nil
end

local function listed(roots_of)
  local lines = {}
  for socket, roots in pairs(roots_of) do
    table.insert(lines, ('%s (%s)'):format(vim.fn.fnamemodify(socket, ':t:r'), table.concat(roots, ', ')))
  end
  table.sort(lines)
  return table.concat(lines, ', ')
end

--- Find the daemon that is meant. `status_at(socket, done)` asks one for its status; `done(problem, socket)` ends it.
function M.find(status_at, done)
  local socket = named()
  if socket then
    return done(nil, socket)
  end
  local sockets, roots_of, folder = present(), {}, vim.fn.getcwd()
  local left = #sockets
  if left < 2 then
    return done(left == 0 and M.NONE or nil, sockets[1])
  end
  for _, one in ipairs(sockets) do
    status_at(one, function(_, status)
      left = left - 1
      if status then
        roots_of[one] = vim.tbl_map(function(root)
          return root.path
        end, status.roots)
      end
      if left > 0 then
        return
      end
      local chosen = M.choose(roots_of, folder)
      local several = next(roots_of)
        and 'several daemons run and none has a root that holds this folder; name one by the option `profile`: '
          .. listed(roots_of)
      done(not chosen and (several or M.NONE) or nil, chosen)
    end)
  end
end

--- Start a daemon for some roots; `done(problem)` when it answers, or cannot be started.
function M.start(roots, done)
  local now = options.now
  if vim.fn.executable(now.command) == 0 then
    return done(('cannot start a daemon: there is no program `%s` (option `command`)'):format(now.command))
  end
  local line = { now.command, 'watch', '--detach' }
  for _, flag in ipairs({ 'profile', 'socket' }) do
    if now[flag] ~= '' then
      vim.list_extend(line, { '--' .. flag, now[flag] })
    end
  end
  table.insert(line, '--')
  for _, root in ipairs(roots) do
    table.insert(line, (root:gsub('^~/', vim.env.HOME .. '/'):gsub('=~/', '=' .. vim.env.HOME .. '/', 1)))
  end
  local said = {}
  vim.fn.jobstart(line, {
    stderr_buffered = true,
    on_stderr = function(_, lines)
      said = lines
    end,
    on_exit = function(_, status)
      done(status ~= 0 and ('the daemon did not start: ' .. vim.trim(table.concat(said, ' '))) or nil)
    end,
  })
end

return M
