-- Citations in a buffer: found, verified, followed, written anew where their lines moved.
local client = require('indexerd.client')
local hits = require('indexerd.hits')
local options = require('indexerd.options')

local api = vim.api
local SPACE = api.nvim_create_namespace('indexerd_citations')
local PATTERN = '()#L%d+%-L%d+@sha256:' .. ('%x'):rep(64) .. '()'
local PAIRS = { { '[', ']' }, { '<', '>' }, { '`', '`' }, { '"', '"' }, { '(', ')' }, { '{', '}' }, { "'", "'" } }
local LIMIT = 1000
-- So many words before a citation without brackets may belong to its path.
local WORDS = 8

-- What stale citations of a buffer are: mark -> { citation, moved_to }
local stale = {}

local M = {}

--- A citation in brackets of a kind that its path does not have, so that it is found whole again.
function M.wrapped(citation)
  for _, pair in ipairs(PAIRS) do
    if not citation:find(pair[1], 1, true) and not citation:find(pair[2], 1, true) then
      return pair[1] .. citation .. pair[2]
    end
  end
  return citation
end

local function opening(line, from, open, close)
  local depth = 0
  for at = from - 1, 1, -1 do
    local char = line:sub(at, at)
    if char == open and depth == 0 then
      return at + 1
    elseif char == open then
      depth = depth - 1
    elseif char == close then
      depth = depth + 1
    end
  end
end

-- Where a path may begin, which may hold blanks: at the bracket that the citation closes, else behind each of the last
-- blanks, the nearest first.
local function path_starts(line, from, after)
  local closing = line:sub(after, after)
  for _, pair in ipairs(PAIRS) do
    local start = closing == pair[2] and opening(line, from, pair[1], pair[2])
    if start then
      return { start }
    end
  end
  local starts, before = {}, line:sub(1, from - 1)
  repeat
    local start = before:match('.*%s()') or 1
    if start <= #before then
      table.insert(starts, start)
    end
    before = before:sub(1, start - 2)
  until start == 1 or #starts == WORDS
  return starts
end

--- The full citations of a line of text: { citation, first byte from 0, byte after, its readings from more words }.
function M.of_line(line)
  local found = {}
  for from, after in line:gmatch(PATTERN) do
    local readings = vim.tbl_map(function(start)
      return line:sub(start, after - 1)
    end, path_starts(line, from, after))
    if readings[1] and readings[1]:sub(1, 2) ~= '#L' then
      table.insert(found, { readings[1], after - 1 - #readings[1], after - 1, readings })
    end
  end
  return found
end

-- Ask for the verdict on the first reading of a citation that holds, else on the first whose document is there, else on
-- the first. `done(problem, verdict, reading)`.
local function judge(ask, readings, done)
  local best, chosen
  local function try(at)
    ask(readings[at], function(problem, verdict)
      if problem and (problem.code == 'no_daemon' or problem.code == 'closed' or problem.code == 'timeout') then
        return done(problem)
      end
      verdict = verdict or { state = 'unreadable', detail = problem.message }
      local holds = verdict.state == 'fresh' or verdict.state == 'moved'
      if not best or holds or (best.state == 'gone' and verdict.state ~= 'gone') then
        best, chosen = verdict, readings[at]
      end
      if holds or at == #readings then
        return done(nil, best, chosen)
      end
      try(at + 1)
    end)
  end
  try(1)
end

local function of_buffer(buffer)
  local found = {}
  for row, line in ipairs(api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    for _, one in ipairs(M.of_line(line)) do
      local mark = api.nvim_buf_set_extmark(buffer, SPACE, row - 1, one[2], { end_col = one[3] })
      table.insert(found, { citation = one[1], mark = mark, readings = one[4] })
    end
  end
  return found
end

local function lines_of(citation)
  return citation:match('#(L%d+%-L%d+)@sha256')
end

local SEVERITY = vim.diagnostic.severity

-- Severity and text of a verdict; nil where the citation holds.
local function judged(verdict)
  local detail = verdict.detail and verdict.detail ~= '' and (' (' .. verdict.detail .. ')') or ''
  if verdict.state == 'moved' then
    return SEVERITY.WARN, ('the cited lines moved to %s; :IndexerdUpdate writes that'):format(lines_of(verdict.moved_to[1]))
  elseif verdict.state == 'changed' then
    return SEVERITY.ERROR, 'the cited lines have changed' .. detail
  elseif verdict.state == 'gone' then
    return SEVERITY.ERROR, 'the cited document is gone' .. detail
  elseif verdict.state ~= 'fresh' then
    return SEVERITY.INFO, 'the citation cannot be verified: ' .. verdict.state .. detail
  end
end

-- Let the mark begin where the chosen reading does.
local function widen(buffer, one)
  local more = #one.reading - #one.citation
  local place = api.nvim_buf_get_extmark_by_id(buffer, SPACE, one.mark, { details = true })
  if more > 0 and place[1] and place[2] >= more then
    local to = { id = one.mark, end_row = place[3].end_row, end_col = place[3].end_col }
    api.nvim_buf_set_extmark(buffer, SPACE, place[1], place[2] - more, to)
  end
  one.citation = one.reading
end

local function show(buffer, verdicts)
  local diagnostics, marks = {}, {}
  for _, one in ipairs(verdicts) do
    widen(buffer, one)
    local place = api.nvim_buf_get_extmark_by_id(buffer, SPACE, one.mark, { details = true })
    local severity, message = judged(one.verdict)
    if severity and place[1] then
      marks[one.mark] = { citation = one.citation, moved_to = (one.verdict.moved_to or {})[1] }
      table.insert(diagnostics, {
        lnum = place[1], col = place[2], end_lnum = place[3].end_row, end_col = place[3].end_col,
        severity = severity, message = message, source = 'indexerd', code = one.verdict.state,
      })
    else
      api.nvim_buf_del_extmark(buffer, SPACE, one.mark)
    end
  end
  stale[buffer] = next(marks) and marks or nil
  vim.diagnostic.set(SPACE, buffer, diagnostics)
end

--- Verify every full citation of a buffer: stale ones become diagnostics. `done(problem, count)` when it is over.
function M.verify(buffer, done)
  api.nvim_buf_clear_namespace(buffer, SPACE, 0, -1)
  stale[buffer] = nil
  local found = of_buffer(buffer)
  if #found == 0 then
    vim.diagnostic.set(SPACE, buffer, {})
    return done(nil, 0)
  end
  local asking, left = client.new(), math.min(#found, LIMIT)
  local is_over = false
  local function finish(problem)
    is_over = true
    asking:close()
    if not api.nvim_buf_is_valid(buffer) then
      return
    end
    if not problem then
      show(buffer, vim.list_slice(found, 1, LIMIT))
    end
    done(problem, #found)
  end
  for at = 1, left do
    local one = found[at]
    local function ask(citation, answered)
      asking:request('verify', { citation = citation, roles = options.now.params.roles }, answered)
    end
    judge(ask, one.readings, function(problem, verdict, reading)
      if is_over then
        return
      end
      if problem then
        return finish(problem)
      end
      one.verdict, one.reading = verdict, reading
      left = left - 1
      if left == 0 then
        finish()
      end
    end)
  end
end

--- Write the moved citations of some lines anew; returns how many.
function M.update(buffer, first, last)
  local count = 0
  for mark, one in pairs(stale[buffer] or {}) do
    local place = api.nvim_buf_get_extmark_by_id(buffer, SPACE, mark, { details = true })
    local row, from, to = place[1], place[2], place[3] and place[3].end_col
    if one.moved_to and row and row >= first - 1 and row < last and row == place[3].end_row then
      local line = api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
      if line:sub(from + 1, to) == one.citation then
        api.nvim_buf_set_text(buffer, row, from, row, to, { one.moved_to })
        count = count + 1
      end
    end
  end
  return count
end

--- Go to the lines of the citation under the cursor, where they are now.
function M.follow()
  local column = api.nvim_win_get_cursor(0)[2]
  for _, one in ipairs(M.of_line(api.nvim_get_current_line())) do
    if column >= one[3] - #one[4][#one[4]] and column <= one[3] then
      local function ask(citation, answered)
        client.ask('verify', { citation = citation, roles = options.now.params.roles }, answered)
      end
      return judge(ask, one[4], function(problem, verdict, reading)
        if problem or not (verdict.path or verdict.path_b64) or verdict.state == 'gone' then
          return client.tell(problem or { message = 'the cited document is gone: ' .. one[1] })
        end
        local now = verdict.state == 'moved' and verdict.moved_to[1] or reading
        hits.go(hits.path(verdict), tonumber(now:match('#L(%d+)%-L%d+@')), 1)
      end)
    end
  end
  client.tell({ message = 'there is no full citation (path#L1-L2@sha256:…) under the cursor' })
end

return M
