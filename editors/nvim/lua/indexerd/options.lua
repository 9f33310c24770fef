-- What the user may choose: the defaults, and a check that names what is wrong.
local M = {}

local defaults = {
  command = 'indexerd', -- the program, for starting a daemon and for :checkhealth
  socket = '', -- ask the daemon at this socket, and no other
  profile = '', -- ask the daemon of this profile
  start = {}, -- roots: where no daemon runs, start one for them
  params = {}, -- further parameters of `query`: { roles = { 'board' }, tags = { 'ops' } }
  limit = 30, -- hits at most
  debounce_ms = 40, -- the question is sent when no key was hit for so long
  timeout_ms = 10000, -- a daemon that says nothing for so long is given up
  verify_on_save = true, -- diagnostics on stale citations
  border = 'rounded', -- as in nvim_open_win()
  width = 0.9, -- share of the screen
  height = 0.8,
  format = nil, -- function(citation, hit): the text that is inserted
  keys = {
    open = '<CR>',
    split = '<C-s>',
    vsplit = '<C-v>',
    tab = '<C-t>',
    next = { '<C-n>', '<Down>' },
    previous = { '<C-p>', '<Up>' },
    quickfix = '<C-q>',
    location = '<C-l>',
    insert = '<C-y>',
    scroll_down = '<C-d>',
    scroll_up = '<C-u>',
    close = { '<Esc>', '<C-c>' },
  },
}

local function check(given, known, where)
  for name, value in pairs(given) do
    local wanted = known[name]
    if wanted == nil and name ~= 'format' then
      local names = vim.tbl_keys(known)
      table.sort(names)
      error(('indexerd: no option %s%s; there are %s'):format(where, name, table.concat(names, ', ')), 0)
    end
    local fits = type(value) == type(wanted)
      or name == 'format' and type(value) == 'function'
      or name == 'border' and type(value) == 'table'
      or where == 'keys.' and (value == false or vim.tbl_contains({ 'string', 'table' }, type(value)))
    if not fits then
      error(('indexerd: option %s%s is a %s, not a %s'):format(where, name, type(wanted), type(value)), 0)
    end
  end
end

M.now = vim.deepcopy(defaults)

--- Take over the user's choice; what is not named has its default. Raises an error that says which option is wrong.
function M.set(given)
  given = given or {}
  check(given, defaults, '')
  check(given.keys or {}, defaults.keys, 'keys.')
  M.now = vim.tbl_extend('force', vim.deepcopy(defaults), given)
  M.now.keys = vim.tbl_extend('force', defaults.keys, given.keys or {})
end

return M
