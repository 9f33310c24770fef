-- :checkhealth indexerd
local options = require('indexerd.options')

local M = {}

-- Neovim 0.8 moved them, 0.10 renamed them.
local health = vim.health or require('health')
local start, ok = health.start or health.report_start, health.ok or health.report_ok
local warn, fault = health.warn or health.report_warn, health.error or health.report_error

local function check_program()
  local command = options.now.command
  if vim.fn.executable(command) == 0 then
    return warn(('no program `%s`: a daemon cannot be started from here'):format(command), {
      'install indexerd, or name the program: require("indexerd").setup({ command = "/path/to/indexerd" })',
    })
  end
  ok(('%s: %s'):format(vim.fn.exepath(command), vim.trim(vim.fn.system({ command, '--version' }))))
end

local function check_daemon()
  local client, reply = require('indexerd.client'), nil
  client.ask('status', {}, function(problem, status)
    reply = { problem = problem, status = status }
  end)
  vim.wait(options.now.timeout_ms + 1000, function()
    return reply ~= nil
  end, 10)
  local status = reply and reply.status
  if not status then
    return fault(reply and reply.problem.message or 'the daemon does not answer')
  end
  ok(('the daemon answers: protocol %d, %s, generation %d'):format(status.protocol, status.state, status.generation))
  for _, root in ipairs(status.roots or {}) do
    ok(('root %s: %s, %s'):format(root.label, root.path, root.state))
  end
  for _, problem in ipairs(status.problems or {}) do
    warn(('%s: %s'):format(problem.code, problem.detail), { 'run `indexerd doctor`' })
  end
end

function M.check()
  start('indexerd: editor and program')
  ok(('Neovim %d.%d.%d'):format(vim.version().major, vim.version().minor, vim.version().patch))
  check_program()
  start('indexerd: daemon')
  check_daemon()
end

return M
