-- A hit as lines, as an entry of a list, as a place to go to, as a citation.
local M = {}

local ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

local function bytes_of(base64)
  local bits, count, out = 0, 0, {}
  for char in base64:gmatch('[%w+/]') do
    bits, count = bits * 64 + ALPHABET:find(char, 1, true) - 1, count + 6
    if count >= 8 then
      count = count - 8
      local high = math.floor(bits / 2 ^ count)
      table.insert(out, string.char(high))
      bits = bits - high * 2 ^ count
    end
  end
  return table.concat(out)
end

--- The file of a reply, exactly, also where its name is not UTF-8.
function M.path(reply)
  return reply.path or bytes_of(reply.path_b64 or '')
end

--- One line without what could play with a list.
function M.flat(text)
  return (text:gsub('%c+', ' '))
end

function M.trail(hit)
  local names = vim.deepcopy(hit.heading_path)
  if names[1] ~= hit.title then
    table.insert(names, 1, hit.title)
  end
  return M.flat(table.concat(names, ' › '))
end

function M.lines(hit)
  local lines = vim.split(hit.text:gsub('\n$', ''), '\n', { plain = true })
  return vim.tbl_map(function(line)
    return (line:gsub('\r$', ''))
  end, lines)
end

--- The full citation: path, lines, and the hash that proves them.
function M.citation(hit)
  return ('%s@sha256:%s'):format(hit.citation, hit.content_hash)
end

--- The entries of a quickfix or location list.
function M.entries(hits)
  return vim.tbl_map(function(hit)
    return {
      bufnr = vim.fn.bufadd(M.path(hit)),
      lnum = hit.line,
      end_lnum = hit.end_line,
      col = hit.column,
      text = M.flat(M.lines(hit)[hit.line - hit.start_line + 1] or hit.title),
    }
  end, hits)
end

--- Places of the matches, as { line from 0 within the hit, first byte, byte after }.
function M.matches(hit)
  local text, found = hit.text, {}
  local at = text:find(hit.excerpt, 1, true)
  if not at then
    return found
  end
  for _, pair in ipairs(hit.highlights) do
    local from = at - 1 + vim.str_byteindex(hit.excerpt, pair[1])
    local to = at - 1 + vim.str_byteindex(hit.excerpt, pair[2])
    local before = text:sub(1, from)
    local _, row = before:gsub('\n', '')
    local line_start = #before - #before:match('[^\n]*$')
    table.insert(found, { row, from - line_start, to - line_start })
  end
  return found
end

--- Show a place of a file in a window, with the cursor on it. `how`: nil, 'split', 'vsplit' or 'tab split'.
function M.go(path, line, column, how)
  vim.cmd("normal! m'")
  if how then
    vim.cmd(how)
  end
  local buffer = vim.fn.bufadd(path)
  vim.bo[buffer].buflisted = true
  local is_shown, fault = pcall(vim.cmd, 'buffer ' .. buffer)
  if not is_shown then
    return require('indexerd.client').tell({ message = (tostring(fault):gsub('^.*Vim%([^)]*%):', '')) })
  end
  local last = vim.api.nvim_buf_line_count(buffer)
  vim.api.nvim_win_set_cursor(0, { math.min(line, last), math.max(column - 1, 0) })
  vim.cmd('normal! zvzz')
end

return M
