-- Search as you type: a line to type in, the hits, and the file of the chosen one with the cited lines marked.
local client = require('indexerd.client')
local hits = require('indexerd.hits')
local options = require('indexerd.options')

local api = vim.api
local SPACE = api.nvim_create_namespace('indexerd_finder')
local MARGIN = 1000 -- lines shown around the cited ones, so that one can look around
local AGAIN_MS = 300 -- while the index is behind, the question is asked again so often

local Finder = {}
Finder.__index = Finder

local M = { current = nil }

local function scratch(filetype)
  local buffer = api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].filetype = filetype
  return buffer
end

-- Where the three windows lie. A narrow screen has the preview below the hits.
local function layout()
  local now = options.now
  local width = math.max(math.floor(vim.o.columns * now.width) - 2, 20)
  local height = math.max(math.floor((vim.o.lines - vim.o.cmdheight) * now.height) - 5, 6)
  local row = math.max(math.floor((vim.o.lines - height - 5) / 2), 0)
  local col = math.max(math.floor((vim.o.columns - width - 2) / 2), 0)
  local function at(down, right, wide, high)
    return {
      relative = 'editor', row = row + down, col = col + right, width = wide, height = high,
      style = 'minimal', border = now.border, zindex = 60,
    }
  end
  if width < 100 then
    local list = math.max(math.floor(height / 3), 2)
    return at(0, 0, width, 1), at(3, 0, width, list), at(list + 5, 0, width, math.max(height - list - 2, 1))
  end
  local list = math.floor(width * 0.42)
  return at(0, 0, width, 1), at(3, 0, list, height), at(3, list + 2, width - list - 2, height)
end

local function highlights()
  local links = {
    IndexerdCited = 'CursorLine', IndexerdMatch = 'Search', IndexerdTitle = 'Title', IndexerdPath = 'Directory',
    IndexerdNote = 'Comment',
  }
  for name, link in pairs(links) do
    api.nvim_set_hl(0, name, { link = link, default = true })
  end
end

--- Open the finder. `given`: text (to begin with), params (of the query), choose (what to do with the hit).
function M.open(given)
  if M.current then
    M.current:close()
  end
  highlights()
  local self = setmetatable({ client = client.new(), found = {}, params = given.params or {} }, Finder)
  self.choose = given.choose
  self.origin = api.nvim_get_current_win()
  self.prompt, self.list, self.preview = scratch('indexerd'), scratch('indexerd_hits'), scratch('indexerd_preview')
  self.timer = vim.loop.new_timer()
  local top, left, right = layout()
  self.list_window = api.nvim_open_win(self.list, false, left)
  self.preview_window = api.nvim_open_win(self.preview, false, right)
  self.prompt_window = api.nvim_open_win(self.prompt, true, top)
  vim.wo[self.list_window].cursorline = true
  for _, window in ipairs({ self.list_window, self.preview_window }) do
    vim.wo[window].wrap = false
  end
  M.current = self
  self:_listen()
  api.nvim_buf_set_lines(self.prompt, 0, -1, false, { hits.flat(given.text or '') })
  vim.cmd('startinsert!')
  return self
end

function Finder:_listen()
  api.nvim_buf_attach(self.prompt, false, {
    on_lines = function()
      self:_ask_in(options.now.debounce_ms)
    end,
  })
  self.group = api.nvim_create_augroup('IndexerdFinder', { clear = true })
  api.nvim_create_autocmd({ 'WinLeave', 'BufWipeout' }, {
    group = self.group,
    buffer = self.prompt,
    callback = function()
      vim.schedule(function()
        self:close()
      end)
    end,
  })
  api.nvim_create_autocmd('VimResized', {
    group = self.group,
    callback = function()
      self:_place()
    end,
  })
  self:_map()
end

function Finder:_place()
  local windows = { self.prompt_window, self.list_window, self.preview_window }
  for at, place in ipairs({ layout() }) do
    api.nvim_win_set_config(windows[at], place)
  end
end

function Finder:_map()
  local actions = {
    open = function() self:_accept() end,
    split = function() self:_accept('split') end,
    vsplit = function() self:_accept('vsplit') end,
    tab = function() self:_accept('tab split') end,
    next = function() self:_move(1) end,
    previous = function() self:_move(-1) end,
    quickfix = function() self:_to_list(false) end,
    location = function() self:_to_list(true) end,
    insert = function() self:_leave_with(M.insert) end,
    scroll_down = function() self:_scroll('\4') end,
    scroll_up = function() self:_scroll('\21') end,
    close = function() self:close() end,
  }
  for name, keys in pairs(options.now.keys) do
    for _, key in ipairs(type(keys) == 'table' and keys or { keys or nil }) do
      vim.keymap.set({ 'i', 'n' }, key, actions[name], { buffer = self.prompt, nowait = true })
    end
  end
end

function Finder:_ask_in(ms)
  self.timer:stop()
  self.timer:start(ms, 0, vim.schedule_wrap(function()
    self:_ask()
  end))
end

function Finder:text()
  return vim.trim(table.concat(api.nvim_buf_get_lines(self.prompt, 0, -1, false), ' '))
end

-- One question is under way at a time; a reply to what is no longer typed is dropped.
function Finder:_ask()
  if self.closed then
    return
  end
  local text = self:text()
  if self.asked == text then
    return
  end
  if text == '' then
    self.asked = text
    return self:_show({}, '')
  end
  if self.is_busy then
    return
  end
  self.is_busy, self.asked = true, text
  local params = vim.tbl_extend('force', { k = options.now.limit, prefix = true }, options.now.params, self.params)
  params.text = text
  self.client:request('query', params, function(problem, result)
    self.is_busy = false
    if self.closed then
      return
    end
    if self:text() ~= text then
      return self:_ask()
    end
    if problem then
      -- Asked again with the next key, or with the same text: the daemon may be back then.
      self.asked = nil
      return self:_show({}, problem.message)
    end
    self:_show(result.hits, M.note(result))
    if result.freshness.state ~= 'current' then
      self.asked = nil
      self:_ask_in(AGAIN_MS)
    end
  end)
end

--- What is to be said beside the hits: that there are none, that some are withheld, that the index is behind.
function M.note(result)
  local parts, count = {}, #result.hits
  local states = { building = 'the first index is being built', pending = 'not everything is indexed yet' }
  local problem = result.freshness.problem
  if count == 0 then
    table.insert(parts, 'nothing found')
    if #(result.unmatched or {}) > 0 then
      table.insert(parts, 'in no document: ' .. table.concat(result.unmatched, ', '))
    end
  else
    table.insert(parts, count .. (count == 1 and ' hit' or ' hits') .. (result.weak and ', weak' or ''))
  end
  local what = problem and problem.code == 'root_unavailable' and 'not every root can be looked at: '
  table.insert(parts, problem and (what or 'nothing new is indexed: ') .. problem.code or states[result.freshness.state])
  local withheld = 0
  for code, number in pairs(result.rejected_counts or {}) do
    if code:match('^source_') or code == 'unsafe_content' or code == 'citation_mismatch' then
      withheld = withheld + number
    end
  end
  if withheld > 0 then
    table.insert(parts, withheld .. ' withheld')
  end
  return table.concat(parts, '; ')
end

function Finder:_show(found, note)
  local chosen, row = self:selected(), 1
  for at, hit in ipairs(found) do
    row = chosen and hit.chunk_id == chosen.chunk_id and self.shown == self.asked and at or row
  end
  self.found, self.note, self.shown = found, note, self.asked
  local lines = {}
  for _, hit in ipairs(found) do
    table.insert(lines, ('%s  %s'):format(hits.flat(hit.citation), hits.trail(hit)))
  end
  api.nvim_buf_clear_namespace(self.list, SPACE, 0, -1)
  api.nvim_buf_set_lines(self.list, 0, -1, false, #lines > 0 and lines or { hits.flat(note) })
  for at, hit in ipairs(found) do
    local length = #hits.flat(hit.citation)
    api.nvim_buf_add_highlight(self.list, SPACE, 'IndexerdPath', at - 1, 0, length)
    api.nvim_buf_add_highlight(self.list, SPACE, 'IndexerdTitle', at - 1, length, -1)
  end
  api.nvim_buf_clear_namespace(self.prompt, SPACE, 0, -1)
  if #found > 0 then
    local text = { { note, 'IndexerdNote' } }
    api.nvim_buf_set_extmark(self.prompt, SPACE, 0, 0, { virt_text = text, virt_text_pos = 'right_align' })
  else
    api.nvim_buf_add_highlight(self.list, SPACE, 'IndexerdNote', 0, 0, -1)
  end
  api.nvim_win_set_cursor(self.list_window, { row, 0 })
  self:_show_preview()
end

function Finder:selected()
  return self.found[api.nvim_win_get_cursor(self.list_window)[1]]
end

function Finder:_move(by)
  if #self.found == 0 then
    return
  end
  local row = api.nvim_win_get_cursor(self.list_window)[1]
  api.nvim_win_set_cursor(self.list_window, { (row - 1 + by) % #self.found + 1, 0 })
  self:_show_preview()
end

function Finder:_scroll(key)
  api.nvim_win_call(self.preview_window, function()
    vim.cmd('normal! ' .. key)
  end)
end

-- The file as it is, if it still has the cited lines where the hit says; else these lines alone.
local function around(hit)
  local cited = hits.lines(hit)
  local is_read, lines = pcall(vim.fn.readfile, hits.path(hit), '', hit.end_line + MARGIN)
  if is_read then
    local first = math.max(hit.start_line - MARGIN, 1)
    lines = vim.tbl_map(function(line)
      return (line:gsub('\r$', ''):gsub('^\239\187\191', ''))
    end, vim.list_slice(lines, first))
    local same = vim.list_slice(lines, hit.start_line - first + 1, hit.end_line - first + 1)
    if vim.deep_equal(same, cited) then
      return lines, hit.start_line - first
    end
  end
  return cited, 0
end

function Finder:_show_preview()
  api.nvim_buf_clear_namespace(self.preview, SPACE, 0, -1)
  local hit = self:selected()
  if not hit then
    return api.nvim_buf_set_lines(self.preview, 0, -1, false, {})
  end
  local lines, above = around(hit)
  -- readfile() gives a NUL as a line feed.
  lines = vim.tbl_map(function(line)
    return (line:gsub('[%z\n]', ' '))
  end, lines)
  api.nvim_buf_set_lines(self.preview, 0, -1, false, lines)
  vim.bo[self.preview].syntax = vim.fn.fnamemodify(hits.path(hit), ':e') == 'md' and 'markdown' or ''
  local last = above + hit.end_line - hit.start_line
  for row = above, last do
    api.nvim_buf_set_extmark(self.preview, SPACE, row, 0, {
      end_row = row + 1, end_col = 0, hl_group = 'IndexerdCited', hl_eol = true, priority = 50, strict = false,
    })
  end
  for _, place in ipairs(hits.matches(hit)) do
    api.nvim_buf_add_highlight(self.preview, SPACE, 'IndexerdMatch', above + place[1], place[2], place[3])
  end
  local best = above + hit.line - hit.start_line + 1
  api.nvim_win_set_cursor(self.preview_window, { math.min(best, api.nvim_buf_line_count(self.preview)), 0 })
  api.nvim_win_call(self.preview_window, function()
    vim.cmd('normal! zz')
  end)
end

-- Leave insert mode first: its end moves the cursor, and that must not happen in the file that is opened.
function Finder:_leave_with(action)
  local hit = self:selected()
  if not hit then
    return
  end
  self:close()
  vim.schedule(function()
    action(hit)
  end)
end

function Finder:_accept(how)
  self:_leave_with(self.choose or function(hit)
    hits.go(hits.path(hit), hit.line, hit.column, how)
  end)
end

function Finder:_to_list(is_local)
  local found, title = self.found, self:text()
  self:_leave_with(function()
    M.fill(found, title, is_local)
  end)
end

--- Put hits into the quickfix list, or the location list of this window, and show it.
function M.fill(found, title, is_local)
  local list = { title = 'indexerd: ' .. title, items = hits.entries(found) }
  if is_local then
    vim.fn.setloclist(0, {}, ' ', list)
    vim.cmd('lopen')
  else
    vim.fn.setqflist({}, ' ', list)
    vim.cmd('copen')
  end
end

--- Insert the citation of a hit behind the cursor.
function M.insert(hit)
  if not vim.bo.modifiable then
    return client.tell({ message = 'this buffer cannot be changed: no citation was inserted' })
  end
  local citation = hits.citation(hit)
  local format = options.now.format or require('indexerd.citations').wrapped
  api.nvim_put({ hits.flat(format(citation, hit)) }, 'c', true, true)
end

--- Close windows and connection; leaves nothing behind.
function Finder:close()
  if self.closed then
    return
  end
  self.closed = true
  M.current = nil
  api.nvim_del_augroup_by_id(self.group)
  self.timer:stop()
  self.timer:close()
  self.client:close()
  vim.cmd('stopinsert')
  if api.nvim_get_current_win() == self.prompt_window and api.nvim_win_is_valid(self.origin) then
    api.nvim_set_current_win(self.origin)
  end
  for _, window in ipairs({ self.prompt_window, self.list_window, self.preview_window }) do
    if api.nvim_win_is_valid(window) then
      api.nvim_win_close(window, true)
    end
  end
end

return M
