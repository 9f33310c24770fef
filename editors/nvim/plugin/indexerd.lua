-- The commands. Nothing else of the plugin is loaded before one of them is used, or a file with citations is saved.
if vim.g.loaded_indexerd then
  return
end
vim.g.loaded_indexerd = true

if vim.fn.has('nvim-0.7') == 0 then
  vim.notify('indexerd: needs Neovim 0.7 or newer', vim.log.levels.ERROR)
  return
end

local function command(name, action, attributes)
  vim.api.nvim_create_user_command(name, action, attributes)
end

command('Indexerd', function(given)
  require('indexerd').search({ text = given.args })
end, { nargs = '*', desc = 'Search as you type' })

command('IndexerdQuickfix', function(given)
  require('indexerd').quickfix(given.args)
end, { nargs = '+', desc = 'Search into the quickfix list' })

command('IndexerdLocation', function(given)
  require('indexerd').location(given.args)
end, { nargs = '+', desc = 'Search into the location list' })

command('IndexerdInsert', function(given)
  require('indexerd').insert(given.args)
end, { nargs = '*', desc = 'Insert a citation: of the hit that is chosen, or of the first hit for a text' })

command('IndexerdVerify', function()
  require('indexerd').verify()
end, { desc = 'Verify the citations of this buffer' })

command('IndexerdUpdate', function(given)
  require('indexerd').update(given.line1, given.line2)
end, { range = true, desc = 'Write moved citations of these lines anew' })

command('IndexerdFollow', function()
  require('indexerd').follow()
end, { desc = 'Go to the lines that the citation under the cursor names' })

command('IndexerdStart', function(given)
  require('indexerd').start(given.fargs)
end, { nargs = '*', complete = 'dir', desc = 'Start a daemon (indexerd watch --detach)' })

command('IndexerdStatus', function()
  require('indexerd').status()
end, { desc = 'Say how fresh the index is' })

local group = vim.api.nvim_create_augroup('Indexerd', { clear = true })
vim.api.nvim_create_autocmd('BufWritePost', {
  group = group,
  desc = 'Verify citations',
  callback = function(event)
    -- One search by the editor itself: without citations, now or before, nothing is loaded.
    if vim.fn.search('@sha256:\\x\\{64}', 'cnw') > 0 or package.loaded['indexerd.citations'] then
      require('indexerd').saved(event.buf)
    end
  end,
})
