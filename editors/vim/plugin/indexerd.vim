vim9script
# The commands; the work is in autoload/indexerd.vim.

if exists('g:loaded_indexerd') || !has('channel') || v:version < 900
  finish
endif
g:loaded_indexerd = 1

command -nargs=+ Indexerd indexerd#Search(<q-args>, false)
command -nargs=+ IndexerdLocation indexerd#Search(<q-args>, true)
command -nargs=+ IndexerdInsert indexerd#Insert(<q-args>)
