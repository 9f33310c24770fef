-- What users and their configuration call.
local options = require('indexerd.options')

local M = {}

--- Choose options; see :help indexerd-options. Not needed where the defaults fit.
function M.setup(given)
  options.set(given)
end

--- Open the finder. `given`: text, params (further parameters of `query`).
function M.search(given)
  require('indexerd.finder').open(given or {})
end

local function found(text, params, done)
  local client = require('indexerd.client')
  local asked = vim.tbl_extend('force', { k = options.now.limit }, options.now.params, params or {})
  asked.text = text
  client.ask('query', asked, function(problem, result)
    if problem then
      return client.tell(problem)
    end
    if #result.hits == 0 then
      local note = require('indexerd.finder').note(result)
      return vim.notify(('indexerd: %s: %s'):format(text, note), vim.log.levels.WARN)
    end
    done(result.hits)
  end)
end

--- Search into the quickfix list and show it.
function M.quickfix(text, params)
  found(text, params, function(hits)
    require('indexerd.finder').fill(hits, text, false)
  end)
end

--- Search into the location list of the window in which this is called.
function M.location(text, params)
  local window = vim.api.nvim_get_current_win()
  found(text, params, function(hits)
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_set_current_win(window)
      require('indexerd.finder').fill(hits, text, true)
    end
  end)
end

--- Insert the citation of the best hit for a text; without one, of the hit that is chosen in the finder.
function M.insert(text)
  local finder = require('indexerd.finder')
  if not text or text == '' then
    return finder.open({ choose = finder.insert })
  end
  found(text, { k = 1 }, function(hits)
    finder.insert(hits[1])
  end)
end

local function verify(buffer, is_asked)
  local client = require('indexerd.client')
  require('indexerd.citations').verify(buffer, function(problem, count)
    if problem then
      return client.tell({ message = 'citations were not verified: ' .. problem.message })
    end
    local bad = #vim.diagnostic.get(buffer, { namespace = vim.api.nvim_create_namespace('indexerd_citations') })
    if is_asked then
      vim.notify(('indexerd: citations: %d, stale: %d'):format(count, bad))
    end
  end)
end

--- Verify the citations of this buffer now.
function M.verify()
  verify(vim.api.nvim_get_current_buf(), true)
end

--- A buffer with citations was written.
function M.saved(buffer)
  if options.now.verify_on_save then
    verify(buffer, false)
  end
end

--- Write the moved citations of some lines of this buffer anew, and verify it again.
function M.update(first, last)
  local buffer = vim.api.nvim_get_current_buf()
  local count = require('indexerd.citations').update(buffer, first, last)
  if count == 0 then
    return vim.notify('indexerd: no moved citation here that was verified (:IndexerdVerify)', vim.log.levels.WARN)
  end
  verify(buffer, false)
end

--- Go to the lines that the citation under the cursor names.
function M.follow()
  require('indexerd.citations').follow()
end

--- Start a daemon for some folders; by default those of the option `start`, else the current one.
function M.start(roots)
  if not roots or #roots == 0 then
    roots = #options.now.start > 0 and options.now.start or { vim.fn.getcwd() }
  end
  require('indexerd.daemon').start(roots, function(problem)
    if problem then
      return require('indexerd.client').tell({ message = problem })
    end
    vim.notify('indexerd: a daemon watches ' .. table.concat(roots, ', '))
  end)
end

--- Say how fresh the index is.
function M.status()
  local client = require('indexerd.client')
  client.ask('status', {}, function(problem, status)
    if problem then
      return client.tell(problem)
    end
    local count = status.documents and (', %d documents'):format(status.documents) or ''
    vim.notify(('indexerd: %s%s, generation %d'):format(status.state, count, status.generation))
  end)
end

return M
