// Beast's compiled part, once for the program (BOOST_BEAST_SEPARATE_COMPILATION).
#include <boost/beast/src.hpp>
