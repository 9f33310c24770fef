-- A conversation with the daemon: JSON lines over its socket (docs/protocol.md), nothing of it waits.
local daemon = require('indexerd.daemon')
local options = require('indexerd.options')
local uv = vim.loop

local Client = {}
Client.__index = Client

local M = {}

--- A client that connects when it is first asked, and again where the connection has ended. Close it after use.
function M.new(socket)
  return setmetatable({ fixed = socket, waiting = {}, order = {}, serial = 0, parts = {} }, Client)
end

--- Ask; `done(problem, result)` is called once, outside of fast events. A problem has `message` and `code`.
function Client:request(method, params, done)
  self.serial = self.serial + 1
  local id = self.serial
  local asked = { id = id, method = method, params = vim.tbl_extend('force', params, { protocol = 1 }) }
  self.waiting[id] = { line = vim.json.encode(asked) .. '\n', done = done, tries = 0 }
  table.insert(self.order, id)
  self:_send()
end

--- End the connection; what was not answered stays unanswered.
function Client:close()
  self.closed = true
  self.waiting, self.order = {}, {}
  self:_disconnect()
end

function Client:_disconnect()
  local pipe, timer = self.pipe, self.timer
  self.pipe, self.timer, self.is_open, self.parts = nil, nil, false, {}
  if pipe and not pipe:is_closing() then
    pipe:close()
  end
  if timer then
    timer:stop()
    timer:close()
  end
end

function Client:_send()
  if not self.is_open then
    return self:_connect()
  end
  for _, id in ipairs(self.order) do
    local one = self.waiting[id]
    if one and one.pipe ~= self.pipe then
      one.pipe, one.tries = self.pipe, one.tries + 1
      self.pipe:write(one.line)
    end
  end
  self:_watch_time()
end

function Client:_watch_time()
  if not self.timer then
    return
  end
  self.timer:stop()
  if next(self.waiting) then
    local pipe = self.pipe
    self.timer:start(options.now.timeout_ms, 0, vim.schedule_wrap(function()
      if pipe == self.pipe then
        self:_fail({ code = 'timeout', message = ('the daemon at %s does not answer'):format(self.socket) })
      end
    end))
  end
end

function Client:_fail(problem)
  local waiting, order = self.waiting, self.order
  self.waiting, self.order, self.is_connecting = {}, {}, false
  self:_disconnect()
  for _, id in ipairs(order) do
    if waiting[id] then
      waiting[id].done(problem)
    end
  end
end

function Client:_connect()
  if self.is_connecting or self.closed then
    return
  end
  self.is_connecting = true
  local function found(problem, socket)
    if self.closed then
      return
    end
    if not socket then
      return self:_without_daemon(problem)
    end
    self.socket = socket
    local pipe = uv.new_pipe(false)
    self.pipe = pipe
    pipe:connect(socket, vim.schedule_wrap(function(fault)
      if self.closed or pipe ~= self.pipe then
        return
      end
      if fault then
        return self:_without_daemon(('no daemon answers at %s (%s)'):format(socket, fault))
      end
      self:_connected(pipe)
    end))
  end
  if self.fixed then
    return found(nil, self.fixed)
  end
  daemon.find(M.status_at, found)
end

function Client:_without_daemon(problem)
  local roots = options.now.start
  if #roots == 0 or self.has_started or self.fixed then
    return self:_fail({ code = 'no_daemon', message = problem })
  end
  self.has_started = true
  daemon.start(roots, function(fault)
    self.is_connecting = false
    if fault then
      return self:_fail({ code = 'no_daemon', message = fault })
    end
    self:_connect()
  end)
end

function Client:_connected(pipe)
  self.is_connecting, self.is_open, self.timer = false, true, uv.new_timer()
  pipe:read_start(function(fault, data)
    local lines = {}
    if data then
      lines = self:_lines(data)
    end
    vim.schedule(function()
      if pipe ~= self.pipe then
        return
      end
      for _, line in ipairs(lines) do
        self:_heard(line)
      end
      if fault or not data then
        self:_ended(pipe)
      end
    end)
  end)
  self:_send()
end

function Client:_lines(data)
  local lines = {}
  local from = 1
  while true do
    local at = data:find('\n', from, true)
    if not at then
      break
    end
    table.insert(self.parts, data:sub(from, at - 1))
    table.insert(lines, table.concat(self.parts))
    self.parts, from = {}, at + 1
  end
  table.insert(self.parts, data:sub(from))
  return lines
end

function Client:_heard(line)
  local is_json, reply = pcall(vim.json.decode, line, { luanil = { object = true, array = true } })
  if not is_json then
    return self:_fail({ code = 'parse_error', message = 'what answers there is no daemon of indexerd' })
  end
  local one = reply.id and self.waiting[reply.id]
  if not one then
    -- An error that belongs to no request: the daemon says why it closes. A request that waits is sent again then.
    self.farewell = reply.error
    return
  end
  self.waiting[reply.id] = nil
  self.order = vim.tbl_filter(function(id)
    return self.waiting[id] ~= nil
  end, self.order)
  self:_watch_time()
  if reply.error then
    local data = reply.error.data or {}
    return one.done({ code = data.code or 'error', message = reply.error.message })
  end
  one.done(nil, reply.result)
end

-- The daemon went away, perhaps to come back: each question is asked once more before it fails.
function Client:_ended(pipe)
  if pipe ~= self.pipe then
    return
  end
  self:_disconnect()
  for _, id in ipairs(self.order) do
    if self.waiting[id] and self.waiting[id].tries > 1 then
      local why = self.farewell and self.farewell.message or 'the daemon closed the connection'
      return self:_fail({ code = 'closed', message = why })
    end
  end
  if next(self.waiting) then
    self:_connect()
  end
end

--- Ask the daemon at one socket for its status: `done(problem, status)`.
function M.status_at(socket, done)
  local client = M.new(socket)
  client:request('status', {}, function(problem, status)
    client:close()
    done(problem, status)
  end)
end

--- Ask one question with a connection of its own.
function M.ask(method, params, done)
  local client = M.new()
  client:request(method, params, function(problem, result)
    client:close()
    done(problem, result)
  end)
end

--- Tell the user of a problem.
function M.tell(problem)
  vim.notify('indexerd: ' .. problem.message, vim.log.levels.ERROR)
end

return M
